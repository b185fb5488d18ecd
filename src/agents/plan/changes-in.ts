import { createHash } from "node:crypto";
import { parse } from "yaml";
import type { Report } from "../../remote/operations/converge.js";
import { Secret } from "../../secret.js";
import { isRecord } from "../../text/record.js";
import { leavesOf } from "../files/tree.js";
import { type Change, changedPath, changesOf, EntryDifference, fileId } from "./change.js";
import type { Plan } from "./plan.js";
import type { PlannedFile } from "./plan-files.js";

/** The changes of a plan that was applied or checked, with the variables or keys that differ. */
export function changesIn(plan: Plan, report: Pick<Report, "results">): Change[] {
  return changesOf(report).map((change) => {
    const planned = plan.files.find(({ file: { path } }) => change[changedPath] === path);
    if (!planned) return change;
    const entries = entriesIn(plan, planned);
    const rest = entries.length > 0 ? change.differences.filter(({ kind }) => kind !== "content") : change.differences;
    return { ...change, [fileId]: planned.file.id, differences: [...rest, ...entries] };
  });
}

function entriesIn(plan: Plan, { file: { content }, before = "", text }: PlannedFile): EntryDifference[] {
  if (content.merge === "yaml") return entriesBetween(leavesIn(before), leavesIn(String(text ?? "")));
  if (content.merge !== "variables" || !(text instanceof Secret)) return [];
  return variableEntries(plan, [...content.entries.keys()], text);
}

function variableEntries({ observation: { variables }, salt }: Plan, names: string[], text: Secret): EntryDifference[] {
  const digests = lineDigests(text, salt);
  // Without a salt the host sends names alone.
  const digestOf = (name: string) => (variables.get(name) === "" ? "" : (digests.get(name) ?? ""));
  return entriesBetween(variables, new Map(names.map((name) => [name, digestOf(name)])));
}

/** By variable, the digest of its line, as the host computes it. */
export function lineDigests(text: Secret, salt: string): Map<string, string> {
  const lines = text.reveal().split("\n");
  return new Map(lines.map((line) => [line.split("=")[0] ?? "", lineDigest(salt, line)]));
}

export const lineDigest = (salt: string, line: string): string =>
  createHash("sha256").update(`${salt}${line}\n`).digest("hex");

function entriesBetween(before: Map<string, string>, after: Map<string, string>): EntryDifference[] {
  const entry = (sign: EntryDifference["sign"]) => (name: string) => new EntryDifference(sign, name);
  const [were, are] = [[...before.keys()], [...after.keys()]];
  return [
    ...are.filter((name) => !before.has(name)).map(entry("+")),
    ...are.filter((name) => before.has(name) && before.get(name) !== after.get(name)).map(entry("~")),
    ...were.filter((name) => !after.has(name)).map(entry("-")),
  ];
}

export function leavesIn(text: string): Map<string, string> {
  // The library quotes the text in its warnings.
  const tree: unknown = parse(text, { uniqueKeys: false, logLevel: "silent" });
  return new Map(isRecord(tree) ? leavesOf(tree).map(([path, value]) => [path, JSON.stringify(value)]) : []);
}
