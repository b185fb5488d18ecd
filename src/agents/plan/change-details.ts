import { Secret } from "../../secret.js";
import { mayHoldSecret, mayNameSecret, nameHint, opaqueWord, replaceTokens, urlUserinfo } from "../../secret-shapes.js";
import { lineDiff } from "../../text/line-diff.js";
import { type Change, type Difference, type EntryDifference, fileId } from "./change.js";
import { leavesIn, lineDigests } from "./changes-in.js";
import type { Plan } from "./plan.js";
import type { PlannedFile } from "./plan-files.js";
import { shownDiff } from "./shown-diff.js";

export interface DetailOptions {
  redact: (text: string) => string;
  secrets: readonly Secret[];
  /** Show YAML files line by line instead of by key. */
  lines?: boolean;
}

/**
 * Variables of `.env` get a fingerprint; its salt is never shown, so that no guess can be tested against it. Settings
 * files and the unit show values, except those that are or look secret: users put keys there.
 */
export function withDetails(change: Change, plan: Plan, options: DetailOptions): Change {
  if (plan.salt === "") return change;
  const planned = plan.files.find(({ file }) => file.id === change[fileId]);
  const details = planned ? fileDetails(change, plan, planned, options) : unitDetails(change, plan, options);
  return details ? { ...change, details } : change;
}

function fileDetails(change: Change, plan: Plan, planned: PlannedFile, options: DetailOptions): string[] | undefined {
  const { file, before = "", text } = planned;
  const isText = change.differences.some(({ kind }) => kind === "content" || kind === "missing" || kind === "removed");
  if (text instanceof Secret) {
    return file.content.merge === "variables" ? change.differences.map(fingerprinted(plan, text)) : undefined;
  }
  const after = Buffer.isBuffer(text) ? "" : (text ?? "");
  const diff = () => shownDiff(before, after, { salt: plan.salt, secrets: options.secrets });
  if (file.content.merge !== "yaml")
    return isText && file.content.merge === "derived" ? otherThanContent(change, diff()) : undefined;
  return options.lines ? diff() : change.differences.map(valued(before, after, options));
}

const otherThanContent = ({ differences }: Change, lines: string[]): string[] => [
  ...differences.filter(({ kind }) => kind !== "content").map(({ text }) => text),
  ...lines,
];

function unitDetails(
  change: Change,
  { agent, service, observation }: Plan,
  { redact }: DetailOptions,
): string[] | undefined {
  if (change.what !== `unit ${agent.unit}` || !change.differences.some(({ kind }) => kind === "content"))
    return undefined;
  const known = new Set(service.split("\n"));
  const lines = lineDiff(observation.service, service).map(
    (line) => line.charAt(0) + (known.has(line.slice(1)) ? line.slice(1) : shownLine(line.slice(1), redact)),
  );
  return otherThanContent(change, lines);
}

function fingerprinted({ observation, salt }: Plan, text: Secret): (difference: Difference) => string {
  const after = lineDigests(text, salt);
  const short = (digest = "") => `${digest.slice(0, 6)}…`;
  return (difference) => {
    if (difference.kind !== "entry") return difference.text;
    return withValues(difference, short(observation.variables.get(difference.name)), short(after.get(difference.name)));
  };
}

function valued(before: string, after: string, { redact }: DetailOptions): (difference: Difference) => string {
  const [was, is] = [leavesIn(before), leavesIn(after)];
  return (difference) => {
    if (difference.kind !== "entry") return difference.text;
    const values = [was.get(difference.name) ?? "", is.get(difference.name) ?? ""] as const;
    if (!values.every((value) => isPublic(difference.name, value, redact))) return difference.text;
    return withValues(difference, ...values);
  };
}

function withValues(difference: EntryDifference, was: string, is: string): string {
  const shown = { "~": `${was} -> ${is}`, "+": is, "-": was }[difference.sign];
  return `${difference.text} (${shown})`;
}

const maxLength = 120;

const isPublic = (path: string, value: string, redact: DetailOptions["redact"]): boolean =>
  value.length <= maxLength && redact(value) === value && !mayNameSecret(path) && !mayHoldSecret(value);

const namedValue = new RegExp(`(\\S*(?:${nameHint}|\\benv\\b)\\S*?)([=: ]\\s*)\\S+`, "gi");

/** Redacts a line that clm did not write. */
function shownLine(line: string, redact: DetailOptions["redact"]): string {
  if (/^\s*(Environment|SetCredential|LoadCredential)\w*\s*=/i.test(line)) return line.replace(/=.*/s, "=…");
  return replaceTokens(redact(line), () => "…")
    .replace(urlUserinfo, "…")
    .replace(namedValue, "$1$2…")
    .replace(opaqueWord, "…")
    .replace(/\p{Cc}/gu, " ")
    .slice(0, 2 * maxLength);
}
