import { objectFrom } from "../../json-object.js";

/** What stands for a secret, wherever clm shows one. */
const shown = "[secret]";

const kinds = [
  ...["password", "passwd", "passphrase", "pwd", "secret", "token", "credentials?", "(?:set-)?cookie"],
  "(?:api|access|secret|private|auth|encryption|signing)[_.-]?key(?:[_.-]?id)?",
].join("|");
/** `DB_PASSWORD`, `accessToken`, `api-key`: whatever stands before the word is part of the name, and letters behind it make another. */
const name = `(?<![\\w.-])[\\w.-]{0,60}?(?:${kinds})`;
const isName = new RegExp(`^[\\w.-]{0,60}?(?:${kinds})$`, "i");
/** Neither `==` nor `=>`, and never the next line. */
const is = `\\\\{0,8}["']?[^\\S\\n]*(?::=?|=(?![=>]))[^\\S\\n]*`;
/** `--password `, and what sshpass is given. */
const ofFlag = `(?:\\s--(?:[a-z]+-){0,3}(?:password|passwd|secret|token|api-key)|\\bsshpass\\s+-p)[^\\S\\n]+`;
/** What stands there in prose and in programs, and is no secret. */
const plain = [
  "the|an?|is|to|for|and|or|of|in|not|if",
  "string|str|number|boolean|bool|int|any|bytes|object|optional|required|none|null|nil|undefined|true|false",
].join("|");

/** Secrets that clm does not keep, by how they are written. Each gives back what may stay. */
const shapes: [RegExp, string][] = [
  [/-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----[\s\S]*?(?:-----END \1-----|$)/g, shown],
  [/\b(Bearer)(\s+)[A-Za-z0-9._~+/=-]{8,}/gi, `$1$2${shown}`],
  // Base64, which `basic principles` and `Basic JavaScript` are not: it has a number, or is now large and now small.
  [
    /\b([Bb]asic|BASIC)(\s+)(?=[A-Za-z+/]*(?:[0-9=]|[a-z][A-Z][A-Za-z+/]*[a-z][A-Z]))[A-Za-z0-9+/]{8,}={0,2}/g,
    `$1$2${shown}`,
  ],
  // The password of an address: `postgres://user:password@host`.
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@"'<>]*):[^\s/@"'<>]+@/gi, `$1:${shown}@`],
  [/\b((?:set-)?cookie\s*:[^\S\n]*)[^\n"'=]+=[^\n"']*/gi, `$1${shown}`],
  [/\b((?:curl|wget)\b[^\n]{0,500}?\s(?:-u|--user)\s*["']?[^\s:"']+):[^\s"']+/gi, `$1:${shown}`],
  // What is called a password, a secret, a token or a key: in an address, in quotes of both kinds, and without any.
  [new RegExp(`([?&]${name}=)[^\\s&"'#]+`, "gi"), `$1${shown}`],
  ...[`${name}${is}`, ofFlag].flatMap((before): [RegExp, string][] => [
    [new RegExp(`(${before}\\\\{0,8}")[^"\\\\\\n]+`, "gi"), `$1${shown}`],
    [new RegExp(`(${before}\\\\{0,8}')[^'\\\\\\n]+`, "gi"), `$1${shown}`],
    [new RegExp(`(${before})(?!["'\\\\[]|(?:${plain})\\b)[^\\s"',;)}\\]\\\\]+`, "gi"), `$1${shown}`],
  ]),
  // A key of our own gateway: clm keeps only a hash of it.
  [/\bclm_[a-z0-9]{8}_[A-Za-z0-9_-]{43}/g, shown],
  // Bots of Telegram and of Discord.
  [/\b\d{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/g, shown],
  [/\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}/g, shown],
  [/\bsk-[A-Za-z0-9_-]{16,}/g, shown],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/g, shown],
  [/\bglpat-[A-Za-z0-9_-]{16,}/g, shown],
  [/\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g, shown],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, shown],
  [/\bAIza[A-Za-z0-9_-]{35}/g, shown],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g, shown],
];

const deepest = 8;

/**
 * A text without secrets: those that clm keeps, which `kept` takes out, and what is written as one. JSON, as most tools answer, is
 * looked at member by member: there names and values are what they are, however they are spelled.
 */
export function redacting(kept: (text: string) => string): (text: string) => string {
  function ofText(text: string): string {
    const clean = shapes.reduce((left, [shape, instead]) => left.replace(shape, instead), text);
    // What was taken out already is not looked at: somebody's password may be `secret`.
    return clean
      .split(shown)
      .map((part) => kept(part))
      .join(shown);
  }

  function ofValue(value: unknown, depth: number): unknown {
    if (typeof value === "string") return redacted(value, depth + 1);
    if (Array.isArray(value)) return value.map((each) => ofValue(each, depth));
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([member, each]) => {
      const isSecret = isName.test(member) && typeof each === "string" && each !== "";
      return [ofText(member), isSecret ? shown : ofValue(each, depth)];
    });
    return Object.fromEntries(members);
  }

  function redacted(text: string, depth: number): string {
    const value = depth < deepest ? objectFrom(text) : undefined;
    if (value === undefined) return ofText(text);
    const [before, after] = [JSON.stringify(value), JSON.stringify(ofValue(value, depth))];
    // As it was written, where nothing had to go.
    return before === after ? text : after;
  }

  return (text) => redacted(text, 0);
}
