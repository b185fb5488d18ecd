/** What stands for a secret, wherever clm shows one. */
const shown = "[secret]";

const words = "pass(?:word|wd|phrase)?|pwd|secret|token|credentials?";
const keyWords = "(?:api|access|secret|private|auth|encryption|signing)[_.-]?key(?:[_.-]?id)?";
/** `DB_PASSWORD=`, `"token": `, `api-key: `. Whatever stands before the word is part of the name, and letters behind it make another. */
const named = `(?:^|[\\s,;{(["'\`&?-])["']?(?:[A-Za-z0-9]+[_.-])*(?:${words}|${keyWords})["']?\\s*(?:=>?|:=?)\\s*`;
/** `--password `, and what sshpass is given. */
const ofFlag = `(?:\\s--(?:[a-z]+-)*(?:password|passwd|secret|token|api-key)|\\bsshpass\\s+-p)\\s+`;

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
  [/\b([a-z][a-z0-9+.-]*:\/\/[^\s/:@"'<>]*):[^\s/@"'<>]+@/gi, `$1:${shown}@`],
  // What is called a password, a secret, a token or a key: `DB_PASSWORD=…`, `"token": "…"`, `api-key: …`, `--password …`.
  ...[named, ofFlag].flatMap((name): [RegExp, string][] => [
    [new RegExp(`(${name}["'])[^"'\\n]+`, "gim"), `$1${shown}`],
    [new RegExp(`(${name})(?!["'[])[^\\s"',;&)}\\]]+`, "gim"), `$1${shown}`],
  ]),
  [/\b((?:set-)?cookie\s*:\s*)[^\n"']+/gi, `$1${shown}`],
  [/\b((?:curl|wget)\b[^\n]*?\s(?:-u|--user)\s*["']?[^\s:"']+):[^\s"']+/gi, `$1:${shown}`],
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

/** A text without secrets: those that clm keeps, which `kept` takes out, and what is written as one. */
export function redacting(kept: (text: string) => string): (text: string) => string {
  return (text) => {
    const clean = shapes.reduce((left, [shape, instead]) => left.replace(shape, instead), text);
    // What was taken out already is not looked at: somebody's password may be `secret`.
    return clean
      .split(shown)
      .map((part) => kept(part))
      .join(shown);
  };
}
