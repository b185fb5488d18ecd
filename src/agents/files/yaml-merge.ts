import { isDeepStrictEqual } from "node:util";
import { type Document, isScalar, LineCounter, parseDocument } from "yaml";
import header from "../../../templates/config.yaml.hbs?raw";
import { Fault } from "../../errors.js";
import { fileTemplate } from "./file-template.js";
import type { Tree } from "./tree.js";
import { expandAliases, shares } from "./yaml-aliases.js";
import { type Branch, isBranch, nodeFor, removePath, setLeaves, treeOf } from "./yaml-nodes.js";
import { scalarValue } from "./yaml-scalar.js";

const newFile = fileTemplate<{ tree: string }>(header);

/**
 * The agent's config.yaml with our part of it as it should be. Everything else stays, with its comments and its order, and
 * as it was written but for white space; when our part is so already, not a byte changes.
 *
 * `gone` are dotted paths that were ours: what they lead to is taken away, unless it is rendered now. A `*` stands for any
 * one key.
 */
export function mergeConfig(existing: string | undefined, config: Tree, gone: readonly string[]): string {
  const text = existing ?? "";
  const doc = parsedConfig(text);
  if (saysNothing(doc)) return begun(text, config);
  const root = doc.contents;
  if (!isBranch(root)) {
    throw new Fault("bad-input", "config.yaml on the host is no settings file: it should be a map of keys and values", {
      why: remedy,
    });
  }
  if (root.items.some((entry) => isOurs(String(treeOf(entry.key)), config, gone) && shares(entry))) expandAliases(doc);
  const branch = doc.contents as unknown as Branch;
  // Both, whatever the first one says.
  const changes = [...gone.map((path) => removePath(branch, path, config)), setLeaves(branch, config)];
  return changes.includes(true) ? written(doc, text) : text;
}

const remedy = "fix it there, or move it away: then clm creates a new one";

/** The failsafe schema keeps every scalar as it is written; what it means is for `scalarValue` to say. */
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
  throw new Fault("bad-input", `config.yaml on the host cannot be read: line ${line}, column ${col}`, {
    why: [error.message, remedy],
    data: { line, column: col },
  });
}

const saysNothing = ({ contents }: Document.Parsed): boolean =>
  contents === null ||
  (isScalar(contents) && contents.range?.[0] === contents.range?.[1] && scalarValue(contents) === null);

const isOurs = (key: string, config: Tree, gone: readonly string[]): boolean =>
  Object.hasOwn(config, key) ||
  gone.some((path) => path === "*" || path.startsWith("*.") || path === key || path.startsWith(`${key}.`));

/** A new file, or one that has only comments so far. */
function begun(text: string, config: Tree): string {
  const doc = parsedConfig("");
  doc.contents = nodeFor(config) as unknown as typeof doc.contents;
  const tree = Object.keys(config).length > 0 ? written(doc, "") : "";
  if (text.trim() === "") return newFile({ tree }).trimEnd().concat("\n");
  return tree === "" ? text : `${text.trimEnd()}\n${tree}`;
}

/** In the manner of the text before: agents write lists without an indent, people mostly with one. */
function written(doc: Document.Parsed, before: string): string {
  const manner = {
    lineWidth: 0,
    indent: /^( {2,8})[^\s#-]/m.exec(before)?.[1]?.length ?? 2,
    indentSeq: !/^( *)[^\s#-].*:[ \t]*\n\1- /m.test(before),
    flowCollectionPadding: /[{[] \S/.test(before),
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  };
  // The library does not always write what it read: a text that begins with blank lines comes out of a | as another.
  // So what it wrote must say what the document says; quoted, it does.
  const said = treeOf(doc.contents);
  for (const blockQuote of [true, false]) {
    const text = doc.toString({ ...manner, blockQuote });
    if (isDeepStrictEqual(treeIn(text), said)) return text;
  }
  throw new Fault("bug", "config.yaml could not be written so that it says what it should");
}

function treeIn(text: string): unknown {
  try {
    return treeOf(parsedConfig(text).contents);
  } catch {
    return undefined;
  }
}
