/**
 * What a secret looks like: the only such list. Three places need three answers: redaction must leave prose readable,
 * a refusal must not hit harmless settings, and a diff on screen hides too much rather than too little.
 */

export const redactedMark = "[secret]";

/** `Bearer …` and `Basic …`. The leading `(?=\S)` keeps the lookbehind linear over long runs of spaces. */
const authSchemes = [
  /(?=\S)(?<=\bBearer\s+)[A-Za-z0-9._~+/=-]{8,}/gi,
  /(?=\S)(?<=(?<![A-Za-z0-9])Bearer\s+)(?!\[secret\])(?:[^\s$"']{8,}|[^\s$]{8,})/g,
  // Base64, unlike `basic principles` and `Basic JavaScript`: has a digit or `=`, or alternates case.
  /(?=\S)(?<=\b(?:[Bb]asic|BASIC)\s+)(?=[A-Za-z+/]*(?:[0-9=]|[a-z][A-Z][A-Za-z+/]*[a-z][A-Z]))[A-Za-z0-9+/]{8,}={0,2}/g,
];

const privateKeys = [
  /-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----[\s\S]*?(?:-----END \1-----|$)/g,
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/g,
];

const vendorTokens = [
  // A key of clm's own gateway: clm keeps only its hash, so no stored secret would match.
  /\bclm_[a-z0-9]{8}_[A-Za-z0-9_-]{43}/g,
  // Telegram and Discord bots.
  /\b\d{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/g,
  /\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}/g,
  /(?<![A-Za-z0-9])sk-(?:[\w-]{16,}|(?=[\w-]*[A-Z0-9])[\w-]{8,})/g,
  /(?<![A-Za-z0-9])(?:gh[a-z]_\w{16,}|github_pat_\w{8,}|glpat-[\w-]{8,})/g,
  /(?<![A-Za-z0-9])(?:xox[a-z]-|xapp-)[\w-]{8,}/g,
  /(?<![A-Za-z0-9])hf_\w{16,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16,}/g,
  /(?<![A-Za-z0-9])AIza[\w-]{20,}/g,
  // JSON web tokens.
  /(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g,
];

const tokens = [...privateKeys, ...authSchemes, ...vendorTokens];

/** Whether a text holds a token, a private key or an auth header that is recognisable by itself. */
export const hasToken = (text: string): boolean => tokens.some((shape) => text.search(shape) >= 0);

export const replaceTokens = (text: string, replace: (token: string) => string): string =>
  replaceAll(text, tokens, replace);

const replaceAll = (text: string, shapes: RegExp[], replace: (token: string) => string): string =>
  shapes.reduce((left, shape) => left.replace(shape, (token) => replace(token)), text);

// ---- Redaction: prose, programs and logs stay readable.

const names = [
  "password|passwd|passphrase|pwd|secret|token|credentials?|creds|jwt|(?:set-)?cookie",
  "(?:api|access|secret|private|auth|encryption|signing)[_.-]?key(?:[_.-]?id)?",
].join("|");
/** `DB_PASSWORD`, `accessToken`, `api-key`: a prefix belongs to the name; letters after the word make it another word. */
const name = `(?<![\\w.-])[\\w.-]{0,60}?(?:${names})`;
const memberName = new RegExp(`^[\\w.-]{0,60}?(?:${names}|authorization)$`, "i");
/** `=` or `:`, but neither `==` nor `=>`, and never across a line end. */
const assign = `\\\\{0,8}["']?[^\\S\\n]*(?::=?|=(?![=>]))[^\\S\\n]*`;
const flag = `(?:\\s--(?:[a-z]+-){0,3}(?:password|passwd|secret|token|api-key)|\\bsshpass\\s+-p)[^\\S\\n]+`;
/** Words of prose and of type declarations that follow such a name and are no secret. */
const harmless = [
  "the|an?|is|to|for|and|or|of|in|not|if",
  "string|str|number|boolean|bool|int|any|bytes|object|optional|required|none|null|nil|undefined|true|false",
].join("|");

/** `postgres://user:password@host`. A port that is followed by a path is no password. */
const urlPassword = /\b([a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@"'<>]*):(?!\d{1,5}\/)(?:[^\s/?#"'<>]+|[^\s@"'<>]+)@/gi;

/** Searches a word up to its last `@`: a search for one behind every `://` takes quadratic time where there is none. */
const redactUrlPasswords = (text: string): string =>
  text.replace(/[^\s"'<>]+/g, (word) => {
    const end = word.lastIndexOf("@") + 1;
    return word.slice(0, end).replace(urlPassword, `$1:${redactedMark}@`) + word.slice(end);
  });

/** Secrets known by what stands before them, each with what stays. */
const assignments: [RegExp, string][] = [
  [/\b((?:set-)?cookie\s*:[^\S\n]*)[^\n"'=]+=[^\n"']*/gi, `$1${redactedMark}`],
  [
    /\b(authorization["']?[^\S\n]*[:=][^\S\n]*["']?(?:[A-Za-z]+[^\S\n]+)?)(?=[^\s"',;]*\d)[^\s"',;$]{8,}/gi,
    `$1${redactedMark}`,
  ],
  [/\b((?:curl|wget)\b[^\n]{0,500}?\s(?:-u|--user)\s*["']?[^\s:"']+):[^\s"']+/gi, `$1:${redactedMark}`],
  [new RegExp(`([?&]${name}=)[^\\s&"'#]+`, "gi"), `$1${redactedMark}`],
  ...[`${name}${assign}`, flag].flatMap((before): [RegExp, string][] => [
    [new RegExp(`(${before}\\\\{0,8}")[^"\\\\\\n]+`, "gi"), `$1${redactedMark}`],
    [new RegExp(`(${before}\\\\{0,8}')[^'\\\\\\n]+`, "gi"), `$1${redactedMark}`],
    [new RegExp(`(${before})(?!["'\\\\[]|(?:${harmless})\\b)[^\\s"',;)}\\]\\\\]+`, "gi"), `$1${redactedMark}`],
  ]),
];

/** The text with everything written like a secret replaced. Doing it twice changes nothing more. */
export function redactSecrets(text: string): string {
  const mark = () => redactedMark;
  const schemes = replaceAll(text, [...privateKeys, ...authSchemes], mark);
  const urls = redactUrlPasswords(schemes);
  const assigned = assignments.reduce((left, [shape, instead]) => left.replace(shape, instead), urls);
  return replaceAll(assigned, vendorTokens, mark);
}

/** Whether the text value of a JSON member of this name is redacted whatever it looks like. */
export const isSecretMember = (member: string): boolean => memberName.test(member);

// ---- Refusal: settings that would store a secret in plain text.

const secretWord =
  /(keys?|tokens?|secrets?|passwords?|passwd|pwd|passphrase|credentials?|creds|authorization|auth|cookie|jwt|bearer|signature|(?<!com)pat)\d*$/i;
const secretWholeWord = /^(pass|sig|pin)$/i;
/** `TOKEN_FILE` and `MAX_TOKENS` are about a secret, or about something else. */
const aboutSecret =
  /^(file|path|dir|url|uri|endpoint|host|port|type|mode|method|name|id|header|user|timeout|ttl|scopes?|issuer|audience|region|provider|prefix|limit|length|format|algorithm|column)$/i;
const counted = /^(max|min|num)$/i;

/** Whether a setting of this name, as `APIKEY`, `x-api-key` or `apiKey`, holds a secret. */
export function isSecretName(setting: string): boolean {
  const words = setting.replace(/([a-z0-9])([A-Z])/g, "$1_$2").split(/[^A-Za-z0-9]+/);
  if (aboutSecret.test(words.at(-1) ?? "") || words.some((word) => counted.test(word))) return false;
  return words.some((word) => secretWord.test(word) || secretWholeWord.test(word));
}

/** Whether a value is written out: not `${NAME}`, not `Bearer ${NAME}`, not a method such as `oauth`. */
export function isLiteral(value: string): boolean {
  const rest = value.replace(/^\s*[A-Za-z]+[\s:=]+(?=\$\{)/, "").replace(/\$\{[A-Za-z_]\w*\}/g, "");
  return /\w/.test(rest) && !/^\s*(true|false|yes|no|on|off|none|oauth2?|basic|bearer)\s*$/i.test(rest);
}

const urlPasswords = [
  /[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:([^\s/?#]+)@/gi,
  /[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:(?!\d{1,5}[/?#])([^\s@"'<>]+)@/gi,
];
const namedValues = [
  // `?api_key=…`, `--token=…`, `PASSWORD=…`
  /(?:^|[\s?&;#,"'])-{0,2}([A-Za-z][\w.-]*)=("[^"]*"|'[^']*'|[^\s&;#]*)/g,
  // `--token …` within a command
  /(?:^|\s)--?([A-Za-z][\w.-]*)\s+([^\s-]\S*)/g,
  // `Authorization: …`
  /^\s*([A-Za-z][\w-]*):(?!\/\/)\s*(.+)$/g,
];

export function hasSecret(text: string): boolean {
  if (hasToken(text)) return true;
  if (urlPasswords.some((form) => [...text.matchAll(form)].some(([, password = ""]) => isLiteral(password))))
    return true;
  return namedValues.some((form) =>
    [...text.matchAll(form)].some(([, setting = "", value = ""]) => isSecretName(setting) && isLiteral(value)),
  );
}

// ---- Display: a diff hides whatever may be secret.

/** Part of a pattern: a name with any of these in it may be that of a secret. */
export const nameHint = "key|token|secret|pass|pwd|credential|creds|auth|header|cookie|jwt|bearer|signature";
/** A long word of letters and digits: a key, or part of one. */
export const opaqueWord = /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}/g;
/** User and password in a URL, between `//` and `@`. */
export const urlUserinfo = /(?<=\/\/)([^/\s"'@]+|[^/\s"'@:]*:[^\s"'@]+)(?=@)/g;
const hinted = new RegExp(`${nameHint}|\\benv\\b`, "i");
export const mayNameSecret = (setting: string): boolean => hinted.test(setting) || isSecretName(setting);

/** Any query counts: its parameters need no telling name. */
export const mayHoldSecret = (value: string): boolean =>
  mayNameSecret(value) ||
  hasToken(value) ||
  value.search(opaqueWord) >= 0 ||
  value.search(urlUserinfo) >= 0 ||
  /\/\/[^/"]*@|\?/.test(value);

/** Whether one word of an output may be a password, a token or an id, rather than a word of a language. */
export const mayBeSecretWord = (word: string): boolean =>
  word.length >= shortestSecretWord && ((/\d/.test(word) && /[a-z]/i.test(word)) || hasToken(word));

export const shortestSecretWord = 8;
