import { isDeepStrictEqual } from "node:util";
import { type Document, isScalar, LineCounter, parseDocument } from "yaml";
import header from "../../../templates/config.yaml.hbs?raw";
import { Fault } from "../../errors.js";
import { fileTemplate } from "./file-template.js";
import type { Tree } from "./tree.js";
import { expandAliases, shares } from "./yaml-aliases.js";
import { type Branch, configFault, isBranch, nodeFor, removePath, setLeaves, treeOf } from "./yaml-nodes.js";
import { scalarValue } from "./yaml-scalar.js";

const newFile = fileTemplate<{ tree: string }>(header);

/**
 * Merges clm's keys into the agent's config.yaml. Everything else keeps its comments, order and spelling except white
 * space; when nothing differs, not a byte changes. `gone` are dotted paths that clm owned: they are removed unless
 * `config` has them. A `*` stands for any one key.
 */
export function mergeConfig(existing: string | undefined, config: Tree, gone: readonly string[]): string {
  const text = existing ?? "";
  const doc = parsedConfig(text);
  if (isEmpty(doc)) return newConfig(text, config);
  const root = doc.contents;
  if (!isBranch(root)) {
    throw configFault("is not a settings file: it should be a map of keys and values", { why: remedy });
  }
  if (root.items.some((entry) => isOurs(String(treeOf(entry.key)), config, gone) && shares(entry))) expandAliases(doc);
  const branch = doc.contents as unknown as Branch;
  // An array, not ||: every change must be made.
  const changes = [...gone.map((path) => removePath(branch, path, config)), setLeaves(branch, config)];
  return changes.includes(true) ? stringified(doc, text) : text;
}

const remedy = "fix it there, or move it away: then clm creates a new one";

/** The failsafe schema keeps every scalar as written; `scalarValue` interprets it. */
export function parsedConfig(text: string): Document.Parsed {
  const lines = new LineCounter();
  const doc = parseDocument(text, {
    schema: "failsafe",
    version: "1.1",
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const [error] = doc.errors;
  if (!error) return doc;
  const { line, col } = lines.linePos(error.pos[0]);
  throw configFault(`cannot be read: line ${line}, column ${col}`, {
    why: [error.message, remedy],
    data: { line, column: col },
  });
}

const isEmpty = ({ contents }: Document.Parsed): boolean =>
  contents === null ||
  (isScalar(contents) && contents.range?.[0] === contents.range?.[1] && scalarValue(contents) === null);

const isOurs = (key: string, config: Tree, gone: readonly string[]): boolean =>
  Object.hasOwn(config, key) ||
  gone.some((path) => path === "*" || path.startsWith("*.") || path === key || path.startsWith(`${key}.`));

/** For a new file, or one that has only comments. */
function newConfig(text: string, config: Tree): string {
  const doc = parsedConfig("");
  doc.contents = nodeFor(config) as unknown as typeof doc.contents;
  const tree = Object.keys(config).length > 0 ? stringified(doc, "") : "";
  if (text.trim() === "") return newFile({ tree }).trimEnd().concat("\n");
  return tree === "" ? text : `${text.trimEnd()}\n${tree}`;
}

/** In the style of the text before: agents write lists without an indent, people mostly with one. */
function stringified(doc: Document.Parsed, before: string): string {
  const style = {
    lineWidth: 0,
    indent: /^( {2,8})[^\s#-]/m.exec(before)?.[1]?.length ?? 2,
    indentSeq: !/^( *)[^\s#-].*:[ \t]*\n\1- /m.test(before),
    flowCollectionPadding: /[{[] \S/.test(before),
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  };
  // The library changes a string that begins with blank lines in a | block; quoted, it is right.
  const expected = treeOf(doc.contents);
  for (const blockQuote of [true, false]) {
    const text = doc.toString({ ...style, blockQuote });
    if (isDeepStrictEqual(treeIn(text), expected)) return text;
  }
  throw new Fault("bug", "config.yaml could not be written without changing its values");
}

function treeIn(text: string): unknown {
  try {
    return treeOf(parsedConfig(text).contents);
  } catch {
    return undefined;
  }
}
