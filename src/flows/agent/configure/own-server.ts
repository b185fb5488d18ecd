import { Fault } from "../../../errors.js";

/**
 * An MCP server of the user's own is recorded and rendered as it stands, so a secret stands there as `${NAME}` and its
 * value is one of the agent's own secrets. What looks like a value is refused by its place, and never repeated.
 */
export function mustNotTell(server: Record<string, unknown>, where: string, path: string): void {
  const place = placeOfSecret(server, where);
  if (place === undefined) return;
  throw new Fault("bad-input", `${place} in ${path} looks like a secret, which does not stand there`, {
    why: `put it in with clm agent secret set AGENT NAME, and write \${NAME} there`,
  });
}

/** One that is started on the host, or one that is called: never both, never neither. */
export function mustBeServer(server: Record<string, unknown>, where: string, path: string): void {
  const ways = ["command", "url"].filter((way) => server[way] !== undefined && server[way] !== null);
  const [way = ""] = ways;
  const text = server[way];
  if (ways.length === 1 && typeof text === "string" && text.trim() !== "") return;
  throw new Fault("bad-input", `${where} in ${path} is not right`, {
    why: "a server of your own has either a command that starts it or the url of one that runs, as a text",
  });
}

function placeOfSecret(value: unknown, where: string, name = ""): string | undefined {
  if (Array.isArray(value)) {
    return first(value, (each, index) =>
      placeOfSecret(each, `${where}.${index}`, flagIn(each) ? "" : (flagIn(value[index - 1]) ?? name)),
    );
  }
  if (typeof value === "object" && value !== null) {
    return first(Object.entries(value), ([key, each]) => placeOfSecret(each, `${where}.${key}`, key));
  }
  if (!["string", "number", "bigint"].includes(typeof value)) return undefined;
  const text = String(value);
  return (saysSecret(name) && isLiteral(text)) || tells(text) ? where : undefined;
}

function first<T, R>(all: T[], look: (each: T, index: number) => R | undefined): R | undefined {
  for (const [index, each] of all.entries()) {
    const found = look(each, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name of a flag that stands alone, so that what follows is its value. */
const flagIn = (value: unknown): string | undefined =>
  typeof value === "string" ? /^--?([A-Za-z][\w.-]*)$/.exec(value)?.[1] : undefined;

const secretWord =
  /(keys?|tokens?|secrets?|passwords?|passwd|pwd|passphrase|credentials?|creds|authorization|auth|cookie|jwt|bearer|signature|(?<!com)pat)\d*$/i;
const wholeWord = /^(pass|sig|pin)$/i;
/** `TOKEN_FILE` and `MAX_TOKENS` are about a secret, or about something else. */
const aboutIt =
  /^(file|path|dir|url|uri|endpoint|host|port|type|mode|method|name|id|header|user|timeout|ttl|scopes?|issuer|audience|region|provider|prefix|limit|length|format|algorithm|column)$/i;
const counted = /^(max|min|num)$/i;

/** Whether a name, as `APIKEY`, `x-api-key` or `apiKey`, is that of a secret. */
function saysSecret(name: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").split(/[^A-Za-z0-9]+/);
  if (aboutIt.test(words.at(-1) ?? "") || words.some((word) => counted.test(word))) return false;
  return words.some((word) => secretWord.test(word) || wholeWord.test(word));
}

/** Neither `${NAME}`, nor `Bearer ${NAME}`, nor a word that says how: `auth: oauth`. */
function isLiteral(text: string): boolean {
  const rest = text.replace(/^\s*[A-Za-z]+[\s:=]+(?=\$\{)/, "").replace(/\$\{[A-Za-z_]\w*\}/g, "");
  return /\w/.test(rest) && !/^\s*(true|false|yes|no|on|off|none|oauth2?|basic|bearer)\s*$/i.test(rest);
}

/** A password before the host of an address. */
const userinfo = /[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:([^\s/?#]+)@/gi;
/** `?api_key=…`, `--token=…`, `PASSWORD=…`, `--token …` within a command, `Authorization: …`. */
const assigned = /(?:^|[\s?&;#,"'])-{0,2}([A-Za-z][\w.-]*)=("[^"]*"|'[^']*'|[^\s&;#]*)/g;
const flagged = /(?:^|\s)--?([A-Za-z][\w.-]*)\s+([^\s-]\S*)/g;
const header = /^\s*([A-Za-z][\w-]*):(?!\/\/)\s*(.+)$/g;
/** Keys that vendors make to be known at sight. */
const known =
  /(?<![A-Za-z0-9])(sk-(?=[\w-]*[A-Z0-9])[\w-]{8,}|gh[a-z]_\w{16,}|github_pat_\w{8,}|glpat-[\w-]{8,}|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}|AIza[\w-]{20,}|hf_\w{16,}|AKIA[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]+\.|Bearer\s+[^\s$]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY)/;

function tells(text: string): boolean {
  if (known.test(text)) return true;
  if ([...text.matchAll(userinfo)].some(([, password = ""]) => isLiteral(password))) return true;
  return [assigned, flagged, header].some((form) =>
    [...text.matchAll(form)].some(([, name = "", value = ""]) => saysSecret(name) && isLiteral(value)),
  );
}
