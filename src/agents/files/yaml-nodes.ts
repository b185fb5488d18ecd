import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, isSeq, type Node, Pair, YAMLMap, YAMLSeq } from "yaml";
import { Fault } from "../../errors.js";
import { own } from "../../text/own-property.js";
import { isRecord } from "../../text/record.js";
import type { Tree } from "./tree.js";
import { scalarFor, scalarValue, unwritable } from "./yaml-scalar.js";

/** A config.yaml on the host that cannot be merged. */
export const configFault = (flaw: string, details: ConstructorParameters<typeof Fault>[2] = {}): Fault =>
  new Fault("bad-input", `config.yaml on the host ${flaw}`, details);

export type Entry = Pair<Node | null, Node | null>;
export type Branch = YAMLMap<Node | null, Node | null>;
export const isBranch = (node: unknown): node is Branch => isMap(node);

/** A node's value as PyYAML reads it. Of two equal keys the later one counts. */
export function treeOf(node: unknown): unknown {
  if (isBranch(node)) return new Map(node.items.map(({ key, value }) => [treeOf(key), treeOf(value)]));
  if (isSeq(node)) return node.items.map(treeOf);
  return isScalar(node) ? scalarValue(node) : null;
}

/** Plain values in the same form, for comparison. */
function treeFrom(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(treeFrom);
  return isRecord(value) ? new Map(Object.entries(value).map(([key, inner]) => [key, treeFrom(inner)])) : value;
}

/** Sets each leaf that differs; returns whether any did. A list is a leaf. */
export function setLeaves(branch: Branch, desired: Tree, path: string[] = []): boolean {
  let changed = false;
  for (const [key, value] of Object.entries(desired)) {
    const here = [...path, key];
    const entry = branch.items.findLast((each) => treeOf(each.key) === key);
    if (isRecord(value) && isBranch(entry?.value)) changed = setLeaves(entry.value, value, here) || changed;
    else if (!entry || !isDeepStrictEqual(treeOf(entry.value), treeFrom(value))) {
      put(branch, entry, key, nodeFor(value, here));
      changed = true;
    }
  }
  return changed;
}

function put(branch: Branch, entry: Entry | undefined, key: string, node: Node): void {
  if (entry) {
    if (isScalar(entry.value) && isScalar(node) && entry.value.comment) node.comment = entry.value.comment;
    entry.value = node;
    return;
  }
  if (branch.items.length === 0) branch.flow = false;
  branch.items.push(new Pair<Node | null, Node | null>(scalarFor(key), node));
}

export function nodeFor(value: unknown, path: string[] = []): Node {
  if (Array.isArray(value)) {
    const list = new YAMLSeq<Node>();
    list.items = value.map((each) => nodeFor(each, path));
    return list;
  }
  if (isRecord(value)) {
    const branch: Branch = new YAMLMap();
    for (const [key, inner] of Object.entries(value)) {
      put(branch, undefined, writable(key, path), nodeFor(inner, [...path, key]));
    }
    return branch;
  }
  return scalarFor(typeof value === "string" ? writable(value, path) : (value as number | boolean | null));
}

function writable(text: string, path: string[]): string {
  const [character] = unwritable.exec(text) ?? [];
  if (character === undefined) return text;
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
  throw new Fault(
    "bad-input",
    `${path.join(".")} cannot be written to config.yaml: it contains the character U+${code}`,
  );
}

/** Removes a dotted path (`*`: any key) and emptied branches, but no desired keys; returns whether any was removed. */
export function removePath(branch: Branch, path: string, desired: unknown): boolean {
  let changed = false;
  for (const entry of [...branch.items]) {
    const key = String(treeOf(entry.key));
    const rest = restOf(path, key);
    const kept = isRecord(desired) ? own(desired, key) : undefined;
    if (rest === undefined || (rest === "" && kept !== undefined && !isRecord(kept))) continue;
    let leaves = rest === "" && kept === undefined;
    // The path names the whole branch, of which some keys are desired.
    if (!leaves && isBranch(entry.value) && removePath(entry.value, rest || "*", kept)) {
      changed = true;
      leaves = entry.value.items.length === 0 && kept === undefined;
    }
    if (!leaves) continue;
    branch.items.splice(branch.items.indexOf(entry), 1);
    changed = true;
  }
  return changed;
}

/** The rest of a path after a key; undefined when the path does not begin with it. A key may contain dots. */
function restOf(path: string, key: string): string | undefined {
  for (const step of [key, "*"]) {
    if (path === step) return "";
    if (path.startsWith(`${step}.`)) return path.slice(step.length + 1);
  }
}
