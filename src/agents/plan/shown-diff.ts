import type { Secret } from "../../secret.js";
import { nameHint, opaqueWord, replaceTokens, urlUserinfo } from "../../secret-shapes.js";
import { lineDiff } from "../../text/line-diff.js";
import { lineDigest } from "./changes-in.js";

export interface ShownDiffOptions {
  /** Never shown, so that no guess can be tested against a fingerprint. */
  salt: string;
  secrets: readonly Secret[];
}

/** The diff takes time proportional to the product of both. */
const maxLines = 5000;

/** A line diff of a settings file, with fingerprints in place of everything that is or looks secret. */
export function shownDiff(before: string, after: string, options: ShownDiffOptions): string[] {
  const size = Math.max(before.split("\n").length, after.split("\n").length);
  if (size > maxLines) return [`(${size} lines: too many to be shown)`];
  return lineDiff(before, after).map((line) => line.charAt(0) + shown(line.slice(1), options));
}

const secretName = `[\\w.-]*(?:${nameHint})[\\w.-]*`;
const text = `"(?:[^"\\\\]|\\\\.)*"|'[^']*'`;

/** Each pattern has two groups: the part to show, and the value to hide. */
const hiding = [
  // A setting with a secret-sounding name: a string, a list, or the rest of the line.
  new RegExp(`(${secretName}["']?\\s*[=:]\\s*)(${text}|\\[[^\\]]*\\]|\\$\\{\\w+\\}|[^\\s"'[{|>][^,}\\]"'#]*)`, "gi"),
  // The value after a flag with such a name.
  new RegExp(`(["']--?${secretName}["'],\\s*)(${text})`, "gi"),
];
/** Inline tables in which every value may be secret, whatever its name. */
const table = /^\s*(env|http_headers|headers)\s*[=:]\s*\{/;
const inTable = new RegExp(`([\\w"'.-]+\\s*[=:]\\s*)(${text})`, "g");
/** Settings that hold names of variables, not values. */
const variables = /^\s*(env_vars|bearer_token_env_var|env_http_headers)\s*=/;
/** Values that are not secret: switches, numbers, paths and names of variables. */
const open = /^\s*["']?(\$\{\w+\}|true|false|null|\d{0,6}|\/[\w./-]*)["']?\s*$/;

function shown(line: string, { salt, secrets }: ShownDiffOptions): string {
  const print = (value: string) => `…${lineDigest(salt, value).slice(0, 6)}`;
  const hide = (whole: string, before: string, value: string) =>
    open.test(value) || value.includes("…") ? whole : `${before}${print(value)}`;
  let shown = line;
  // Longest first: one secret may be the start of another.
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
