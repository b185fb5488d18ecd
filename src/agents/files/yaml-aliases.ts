import {
  type Alias,
  type Document,
  isAlias,
  isNode,
  isScalar,
  isSeq,
  type Node,
  Pair,
  visit,
  YAMLMap,
  YAMLSeq,
} from "yaml";
import { defined } from "../../text/defined.js";
import { type Branch, configFault, type Entry, isBranch, treeOf } from "./yaml-nodes.js";

const isMerge = ({ key }: Entry): boolean => isScalar(key) && key.type === "PLAIN" && key.value === "<<";

/** Whether the node has anchors, aliases or merge keys: a change below it could affect other nodes. */
export function shares(node: unknown): boolean {
  let found = false;
  visit(node as Node, {
    Node: (_, each) => {
      found ||= isAlias(each) || Boolean((each as { anchor?: string }).anchor);
    },
    Pair: (_, each) => {
      found ||= isMerge(each as Entry);
    },
  });
  return found;
}

/** Replaces every alias with a copy of its target, so that each copy can be changed separately. */
export function expandAliases(doc: Document.Parsed): void {
  const targets = new Map<Alias, Node | undefined>();
  visit(doc, { Alias: (_, alias) => void targets.set(alias, alias.resolve(doc)) });
  let copies = 0;

  const copy = (node: Node | null, above: Node[]): Node | null => {
    if (++copies > 100_000) throw configFault("cannot be read: its aliases expand to more than 100000 nodes");
    if (isAlias(node)) {
      const target = targets.get(node);
      if (!target || above.includes(target)) throw configFault(`has an alias *${node.source} that refers to nothing`);
      return copy(target, above);
    }
    if (isBranch(node)) {
      const branch: Branch = Object.assign(new YAMLMap<Node | null, Node | null>(), propertiesOf(node));
      const entries = node.items.map(
        ({ key, value }) => new Pair(copy(key, [...above, node]), copy(value, [...above, node])),
      );
      branch.items = merged(entries);
      return branch;
    }
    if (isSeq(node)) {
      const list = Object.assign(new YAMLSeq<Node | null>(), propertiesOf(node));
      list.items = node.items.map((each) => copy(isNode(each) ? each : null, [...above, node]));
      return list;
    }
    const scalar = node?.clone() as Node | null;
    if (isScalar(scalar)) delete scalar.anchor;
    return scalar;
  };
  doc.contents = copy(doc.contents, []) as typeof doc.contents;
}

/** A collection's properties, without its items and its anchor. */
const propertiesOf = ({ flow, comment, commentBefore, spaceBefore, tag }: YAMLMap | YAMLSeq) =>
  defined({ flow, comment, commentBefore, spaceBefore, tag });

/** `<<: {a: 1}` sets a to 1 unless the map itself has an a. */
function merged(entries: Entry[]): Entry[] {
  const own = entries.filter((entry) => !isMerge(entry));
  const keys = new Set(own.map(({ key }) => treeOf(key)));
  const merges = entries.filter(isMerge).flatMap(({ value }) => (isSeq(value) ? value.items : [value]));
  for (const entry of merges.flatMap((branch) => (isBranch(branch) ? branch.items : []))) {
    if (!keys.has(treeOf(entry.key))) own.push(entry);
    keys.add(treeOf(entry.key));
  }
  return own;
}
