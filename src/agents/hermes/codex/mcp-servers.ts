import { isPassable, quote } from "../../../quote.js";
import { Secret } from "../../../secret.js";
import type { TomlTable, TomlValue } from "../../files/toml.js";

/** A scalar of config.yaml: as written, and as PyYAML reads it. */
export interface Scalar {
  text: string;
  value: unknown;
}
export type Setting = Scalar | Setting[] | Map<string, Setting>;

/** The values of `${NAME}` in config.yaml. A secret must not be written to a file. */
export type Variables = ReadonlyMap<string, string | Secret>;

/** Names that every version of Codex accepts. */
const takesName = /^[a-zA-Z0-9_:@/.-]+$/;

const handled = new Set([
  ...["command", "args", "env", "cwd", "url", "headers", "transport", "timeout", "connect_timeout", "enabled"],
  ...["description", "tools", "sampling", "auth", "oauth"],
]);

/** `notes`: what Codex does not get and why, in the words of Hermes where it reports the same. */
export function translate(name: string, setting: Setting | undefined, variables: Variables) {
  if (!takesName.test(name)) return skipped("Codex starts no server of that name");
  if (!(setting instanceof Map)) return skipped("no command or url field");
  const reading = new ServerReader(setting, variables);
  const transport = isTruthy(setting.get("command")) ? stdio(reading) : http(reading);
  if (typeof transport === "string") return skipped(transport);
  const entries: Entries = [
    ...transport,
    ["tool_timeout_sec", reading.seconds("timeout")],
    ["startup_timeout_sec", reading.seconds("connect_timeout")],
    ...switches(reading),
  ];
  const server: TomlTable = new Map(entries.filter((entry): entry is [string, TomlValue] => !isEmpty(entry[1])));
  for (const key of setting.keys()) {
    if (key === "sampling") reading.notes.push("sampling (no codex equivalent)");
    else if (key === "auth" || key === "oauth") reading.notes.push(`${key} (log in with: codex mcp login ${name})`);
    else if (!handled.has(key)) reading.notes.push(`${key} (unknown Hermes key)`);
  }
  return { server, notes: reading.notes };
}

type Entries<T = TomlValue | undefined> = [name: string, value: T][];

const skipped = (why: string) => ({ server: undefined, notes: [why] });

class ServerReader {
  readonly notes: string[] = [];

  constructor(
    readonly setting: Map<string, Setting>,
    readonly variables: Variables,
  ) {}

  text(key: string): string {
    return withPublicValues(textOf(this.setting.get(key)), this.variables);
  }

  list(key: string, from = this.setting): string[] {
    const value = from.get(key);
    if (!isTruthy(value)) return [];
    if (Array.isArray(value)) return value.map((each) => this.withPublicValues(key, each));
    this.notes.push(`${key} (not a list)`);
    return [];
  }

  entries(key: string): Entries<string> {
    const value = this.setting.get(key);
    if (!isTruthy(value)) return [];
    if (value instanceof Map)
      return [...value].map(([name, each]) => [name, this.withPublicValues(`${key}.${name}`, each)]);
    this.notes.push(`${key} (not a map)`);
    return [];
  }

  seconds(key: string): number | undefined {
    const value = this.setting.get(key);
    if (value === undefined) return undefined;
    const text = "text" in value ? value.text.trim() : "";
    // Codex cannot represent more than that.
    if (/^\+?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) && Number(text) <= 1e9) return Number(text);
    this.notes.push(`${key} (not numeric)`);
    return undefined;
  }

  private withPublicValues(key: string, setting: Setting): string {
    if (!("text" in setting)) this.notes.push(`${key} (not a text: left empty)`);
    return withPublicValues(textOf(setting), this.variables);
  }

  /** The names of the secrets in texts. */
  secretsIn(...texts: string[]): string[] {
    const names = texts.flatMap((text) => [...text.matchAll(reference)].map(([, name = ""]) => name));
    return names.filter((name) => this.variables.get(name) instanceof Secret);
  }

  hasSecret = (text: string): boolean => this.secretsIn(text).length > 0;
}

/** Secrets in arguments or settings are inserted by a shell from the environment, so that they are in no file. */
function stdio(reading: ServerReader): Entries | string {
  const { setting, variables, notes } = reading;
  if (isTruthy(setting.get("url"))) notes.push("url (both command and url set; preferring stdio)");
  const words = [reading.text("command"), ...reading.list("args")];
  const env = reading.entries("env");
  const cwd = isTruthy(setting.get("cwd")) ? reading.text("cwd") : "";
  if (reading.hasSecret(cwd)) return "its cwd contains a secret, which would have to be written to Codex' config.toml";

  if (![...words, cwd, ...env.flat()].every(isPassable))
    return "its command, cwd or env has a NUL or half a character in it, which no program can be given";

  const plain = env.filter(([, value]) => !reading.hasSecret(value));
  const plainReferences = env.filter(([name, value]) => value === `\${${name}}` && reading.hasSecret(value));
  const composedSecrets = env.filter(([name, value]) => reading.hasSecret(value) && value !== `\${${name}}`);
  const obstacle = obstacleTo(words, plain, composedSecrets, reading);
  if (obstacle) return obstacle;
  const used = reading.secretsIn(...words, ...composedSecrets.map(([, value]) => value));
  const settings = composedSecrets.map(([name, value]) => `${name}=${inShell(value, variables)}`);
  const line = [...settings, "exec", ...words.map((word) => inShell(word, variables))].join(" ");
  const [command = "", ...args] = used.length > 0 ? ["/bin/sh", "-c", line] : words;
  const passed = new Set([...plainReferences.map(([name]) => name), ...used]);
  return [
    ["command", command],
    ["args", args],
    ["env", new Map(plain)],
    ["env_vars", [...passed]],
    ["cwd", cwd],
  ];
}

/** Why a shell cannot insert the secrets. */
function obstacleTo(
  words: string[],
  plain: Entries<string>,
  composedSecrets: Entries<string>,
  reading: ServerReader,
): string | undefined {
  const odd = composedSecrets.find(([name]) => !isIdentifier(name));
  if (odd) return `its env ${odd[0]} has a secret in it, and no shell can set a variable of that name`;
  /** The secrets in the words and in the variables, without one of them. */
  const usedBut = (name?: string) =>
    reading.secretsIn(...words, ...composedSecrets.flatMap(([other, text]) => (other === name ? [] : text)));
  const unreadable = usedBut().find((name) => !isIdentifier(name));
  if (unreadable) return `it is given the secret ${unreadable}, and no shell can read a variable of that name`;
  // The shell would see the server's own value of that name, and not the secret.
  const hidden = [...plain, ...composedSecrets].find(([name]) => usedBut(name).includes(name));
  return hidden && `its env ${hidden[0]} has the name of a secret that it is given as well`;
}

function http(reading: ServerReader): Entries | string {
  if (!isTruthy(reading.setting.get("url"))) return "no command or url field";
  const url = reading.text("url");
  if (reading.hasSecret(url))
    return "its url contains a secret, which would have to be written to Codex' config.toml: send it as a header";
  const headers = reading.entries("headers");
  const plain = headers.filter(([, value]) => !reading.hasSecret(value));
  const whole: Entries<string> = [];
  let bearer = "";
  for (const [name, value] of headers.filter(([, each]) => reading.hasSecret(each))) {
    const [only = ""] = reading.secretsIn(value);
    if (value === `\${${only}}`) whole.push([name, only]);
    else if (name.toLowerCase() === "authorization" && value === `Bearer \${${only}}`) bearer = only;
    else return `its header ${name} contains a secret and other text: use a variable that holds the whole header`;
  }
  if (textOf(reading.setting.get("transport")) === "sse") reading.notes.push("transport=sse (codex auto-negotiates)");
  return [
    ["url", url],
    ["http_headers", new Map(plain)],
    ["bearer_token_env_var", bearer],
    ["env_http_headers", new Map(whole)],
  ];
}

function switches(reading: ServerReader): Entries {
  const { setting, notes } = reading;
  const enabled = setting.get("enabled");
  const isOff = enabled && "value" in enabled && enabled.value === false;
  const tools = setting.get("tools");
  const choice = tools instanceof Map ? tools : new Map<string, Setting>();
  if (isTruthy(tools) && !(tools instanceof Map)) notes.push("tools (not a map)");
  for (const key of choice.keys()) {
    if (key !== "include" && key !== "exclude") notes.push(`tools.${key} (no codex equivalent)`);
  }
  return [
    ["enabled", isOff ? false : undefined],
    ["enabled_tools", reading.list("include", choice)],
    ["disabled_tools", reading.list("exclude", choice)],
  ];
}

const isEmpty = (value: TomlValue | undefined): boolean =>
  value === undefined ||
  value === "" ||
  (value instanceof Map ? value.size : Array.isArray(value) && value.length) === 0;

const isTruthy = (setting: Setting | undefined): setting is Setting => {
  if (setting === undefined) return false;
  if (Array.isArray(setting)) return setting.length > 0;
  if (setting instanceof Map) return setting.size > 0;
  return setting.value !== null && setting.value !== false && setting.value !== "" && setting.value !== 0;
};

/** In the notation of Python's str(), as Hermes writes it. */
function textOf(setting: Setting | undefined): string {
  if (setting === undefined || !("text" in setting)) return "";
  const { text, value } = setting;
  return typeof value === "boolean" ? (value ? "True" : "False") : value === null ? "None" : text;
}

const reference = /\$\{([^}]+)\}/g;

/** Inserts public values; unknown names stay, as in Hermes. A secret in plain text becomes a reference to its name again. */
function withPublicValues(text: string, variables: Variables): string {
  let result = text.replace(reference, (whole, name: string) => {
    const value = variables.get(name);
    return typeof value === "string" ? value : whole;
  });
  const secrets = [...variables].flatMap(([name, value]) =>
    value instanceof Secret ? { name, value: value.reveal() } : [],
  );
  // The longest first: one may be the beginning of another.
  for (const { name, value } of secrets.sort((a, b) => b.value.length - a.value.length)) {
    if (value.length >= shortest) result = result.replaceAll(value, () => `\${${name}}`);
  }
  return result;
}

const isIdentifier = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);

/** Shorter secrets may be a part of any word. */
const shortest = 8;

/** A word of a shell command, with references to secrets for the shell to expand. */
function inShell(text: string, variables: Variables): string {
  let word = "";
  let from = 0;
  for (const match of text.matchAll(reference)) {
    const [whole, name = ""] = match;
    if (!(variables.get(name) instanceof Secret)) continue;
    const before = text.slice(from, match.index);
    word += `${before === "" ? "" : quote(before)}"$${name}"`;
    from = match.index + whole.length;
  }
  const rest = text.slice(from);
  return `${word}${rest === "" && word !== "" ? "" : quote(rest)}`;
}
