import type { Secret } from "../../secret.js";
import { nameHint, opaqueWord, replaceTokens, urlUserinfo } from "../../secret-shapes.js";
import { lineDiff } from "../../text/line-diff.js";
import { lineDigest } from "./differences.js";

export interface ShownDiffOptions {
  /** Never shown itself, so that nobody can try what has a fingerprint. */
  salt: string;
  /** What clm knows to be secret. */
  secrets: readonly Secret[];
}

/** Comparing takes the product of both. */
const longest = 5000;

/** How a settings file becomes another, line by line, with a fingerprint wherever something secret stands, or seems to. */
export function shownDiff(before: string, after: string, showing: ShownDiffOptions): string[] {
  const size = Math.max(before.split("\n").length, after.split("\n").length);
  if (size > longest) return [`(${size} lines: too many to be shown)`];
  return lineDiff(before, after).map((line) => line.charAt(0) + shown(line.slice(1), showing));
}

const secretName = `[\\w.-]*(?:${nameHint})[\\w.-]*`;
const text = `"(?:[^"\\\\]|\\\\.)*"|'[^']*'`;

/** Each pattern: what may be seen, and what stands behind it. */
const hiding = [
  // A setting whose name says that it is secret: a text, a list, or what stands there to the end of the line.
  new RegExp(`(${secretName}["']?\\s*[=:]\\s*)(${text}|\\[[^\\]]*\\]|\\$\\{\\w+\\}|[^\\s"'[{|>][^,}\\]"'#]*)`, "gi"),
  // What follows a flag whose name says so.
  new RegExp(`(["']--?${secretName}["'],\\s*)(${text})`, "gi"),
];
/** All of a table in one line of which each value may be secret, whatever its name. */
const table = /^\s*(env|http_headers|headers)\s*[=:]\s*\{/;
const inTable = new RegExp(`([\\w"'.-]+\\s*[=:]\\s*)(${text})`, "g");
/** What names variables is no secret, whatever it is called. */
const variables = /^\s*(env_vars|bearer_token_env_var|env_http_headers)\s*=/;
/** Neither is a switch, a number, a path or the name of a variable. */
const open = /^\s*["']?(\$\{\w+\}|true|false|null|\d{0,6}|\/[\w./-]*)["']?\s*$/;

function shown(line: string, { salt, secrets }: ShownDiffOptions): string {
  const print = (value: string) => `…${lineDigest(salt, value).slice(0, 6)}`;
  const hide = (whole: string, before: string, value: string) =>
    open.test(value) || value.includes("…") ? whole : `${before}${print(value)}`;
  let shown = line;
  // The longest first: one may begin with another.
  for (const secret of [...secrets].sort((a, b) => b.reveal().length - a.reveal().length)) {
    if (secret.reveal().length >= 4) shown = shown.replaceAll(secret.reveal(), () => print(secret.reveal()));
  }
  if (!variables.test(line)) {
    if (table.test(line)) shown = shown.replace(inTable, hide);
    for (const pattern of hiding) shown = shown.replace(pattern, hide);
    const hideWord = (value: string) => hide(value, "", value);
    shown = replaceTokens(shown.replace(urlUserinfo, hideWord), hideWord).replace(opaqueWord, hideWord);
  }
  return shown.replace(/\p{Cc}/gu, " ");
}
