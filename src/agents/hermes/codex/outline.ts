import { type AST, ParseError, parseTOML } from "toml-eslint-parser";

export interface TomlNode {
  path: string[];
  kind: "table" | "array" | "key";
  /** For a key: the length of the path of its header. */
  below: number;
  /** For a key with a string value. */
  text?: string;
}

/** A header, or a key with its value, in the file. */
export interface TomlEntry {
  kind: "header" | "key";
  /** For a key: as written, without its header. */
  path: string[];
  range: readonly [number, number];
}

export interface Outline {
  /** The offset of the first table; keys before it belong to the root. */
  firstTable?: number;
  comments: Set<number>;
  /** Including inline tables. */
  paths: TomlNode[];
  entries: TomlEntry[];
}

export interface Flaw {
  line: number;
  column: number;
  reason: string;
}

export function outlineOf(text: string): Outline | Flaw {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(text, { tomlVersion: "next" });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return { line: error.lineNumber, column: error.column + 1, reason: error.message };
  }
  const { body } = program.body[0];
  const firstTable = body.find((node) => node.type === "TOMLTable")?.range[0];
  return {
    ...(firstTable !== undefined && { firstTable }),
    comments: new Set(program.comments.map(({ range }) => range[0])),
    paths: body.flatMap((node) => (node.type === "TOMLTable" ? nodesInTable(node) : nodesInKey([], 0, node))),
    entries: body.flatMap((node) => (node.type === "TOMLTable" ? entriesOf(node) : entryOf(node))),
  };
}

const pathOf = ({ resolvedKey }: AST.TOMLTable): string[] => resolvedKey.filter((key) => typeof key === "string");
const wordsOf = ({ keys }: AST.TOMLKey): string[] =>
  keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value));

const entryOf = ({ key, range }: AST.TOMLKeyValue): TomlEntry => ({ kind: "key", path: wordsOf(key), range });
const entriesOf = (table: AST.TOMLTable): TomlEntry[] => [
  { kind: "header", path: pathOf(table), range: [table.range[0], table.key.range[1]] },
  ...table.body.map(entryOf),
];

function nodesInTable(table: AST.TOMLTable): TomlNode[] {
  const path = pathOf(table);
  const below = path.length;
  const kind = table.kind === "array" ? "array" : "table";
  return [{ path, kind, below }, ...table.body.flatMap((entry) => nodesInKey(path, below, entry))];
}

function nodesInKey(above: string[], below: number, { key, value }: AST.TOMLKeyValue): TomlNode[] {
  const path = [...above, ...wordsOf(key)];
  const text = value.type === "TOMLValue" && value.kind === "string" ? { text: value.value } : {};
  const inside = value.type === "TOMLInlineTable" ? value.body.flatMap((entry) => nodesInKey(path, below, entry)) : [];
  return [{ path, kind: "key", below, ...text }, ...inside];
}
