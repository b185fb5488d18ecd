import { createHash } from "node:crypto";
import { parse } from "yaml";
import type { Report } from "../../remote/operations/converge.js";
import { Secret } from "../../secret.js";
import { isRecord } from "../../text/record.js";
import { leavesOf } from "../files/tree.js";
import { type Change, changesOf, EntryDifference, fileId } from "./change.js";
import type { Plan } from "./plan.js";
import type { PlannedFile } from "./plan-files.js";

/** The changes of a plan that was applied or checked, with the variables or keys that differ. */
export function changesIn(plan: Plan, report: Pick<Report, "results">): Change[] {
  return changesOf(report).map((change) => {
    const planned = plan.files.find(({ file: { path } }) => change.what === `file ${path}` || change.what === path);
    if (!planned) return change;
    const entries = entriesIn(plan, planned);
    const rest = entries.length > 0 ? change.differences.filter(({ kind }) => kind !== "content") : change.differences;
    return { ...change, [fileId]: planned.file.id, differences: [...rest, ...entries] };
  });
}

const entry =
  (sign: EntryDifference["sign"]) =>
  (name: string): EntryDifference =>
    new EntryDifference(sign, name);

function entriesIn(plan: Plan, { file: { content }, before = "", text }: PlannedFile): EntryDifference[] {
  if (content.merge === "yaml") return keyEntries(leavesIn(before), leavesIn(String(text ?? "")));
  if (content.merge !== "variables" || !(text instanceof Secret)) return [];
  return variableEntries(plan, [...content.entries.keys()], text);
}

function variableEntries({ observation: { variables }, salt }: Plan, names: string[], text: Secret): EntryDifference[] {
  const digests = lineDigests(text, salt);
  const isOther = (name: string): boolean => {
    const digest = variables.get(name);
    return Boolean(salt && digest) && digest !== digests.get(name);
  };
  return [
    ...names.filter((name) => !variables.has(name)).map(entry("+")),
    ...names.filter(isOther).map(entry("~")),
    ...[...variables.keys()].filter((name) => !names.includes(name)).map(entry("-")),
  ];
}

/** By variable, the digest of its line, as the host computes it. */
export function lineDigests(text: Secret, salt: string): Map<string, string> {
  const lines = text.reveal().split("\n");
  return new Map(lines.map((line) => [line.split("=")[0] ?? "", lineDigest(salt, line)]));
}

export const lineDigest = (salt: string, line: string): string =>
  createHash("sha256").update(`${salt}${line}\n`).digest("hex");

function keyEntries(before: Map<string, string>, after: Map<string, string>): EntryDifference[] {
  const isOther = ([path, value]: [string, string]) => before.has(path) && before.get(path) !== value;
  return [
    ...[...after.keys()].filter((path) => !before.has(path)).map(entry("+")),
    ...[...after].filter(isOther).map(([path]) => entry("~")(path)),
    ...[...before.keys()].filter((path) => !after.has(path)).map(entry("-")),
  ];
}

export function leavesIn(text: string): Map<string, string> {
  // The library quotes the text in its warnings.
  const tree: unknown = parse(text, { uniqueKeys: false, logLevel: "silent" });
  return new Map(isRecord(tree) ? leavesOf(tree).map(([path, value]) => [path, JSON.stringify(value)]) : []);
}
