import { type AST, ParseError, parseTOML } from "toml-eslint-parser";

/** A table or a key, and where it is in the tree. */
export interface Place {
  path: string[];
  kind: "table" | "array" | "key";
  /** Of a key: how many names the header has under which it stands. */
  below: number;
  /** Of a key whose value is a text. */
  text?: string;
}

/** A header, or a key with all of its value, as it stands in the file. */
export interface Entry {
  kind: "header" | "key";
  /** Of a key: as it is written, below whatever header. */
  path: string[];
  range: readonly [number, number];
}

/** What is where in a TOML file. */
export interface Outline {
  /** Where the first table begins, if there is one: what comes before it belongs to the root. */
  firstTable?: number;
  /** Where comments begin. */
  comments: Set<number>;
  /** Also what stands in braces. */
  paths: Place[];
  /** From top to bottom. */
  entries: Entry[];
}

export interface Flaw {
  line: number;
  column: number;
  reason: string;
}

/** What a text has in it, or why it is no TOML. */
export function outlineOf(text: string): Outline | Flaw {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(text, { tomlVersion: "next" });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    return { line: error.lineNumber, column: error.column + 1, reason: error.message };
  }
  const { body } = program.body[0];
  const tables = body.filter((node) => node.type === "TOMLTable");
  const firstTable = tables[0]?.range[0];
  return {
    ...(firstTable !== undefined && { firstTable }),
    comments: new Set(program.comments.map(({ range }) => range[0])),
    paths: body.flatMap((node) => (node.type === "TOMLTable" ? placesInTable(node) : placesInKey([], 0, node))),
    entries: body.flatMap((node) => (node.type === "TOMLTable" ? entriesOf(node) : entryOf(node))),
  };
}

const pathOf = ({ resolvedKey }: AST.TOMLTable): string[] => resolvedKey.filter((key) => typeof key === "string");
const wordsOf = ({ keys }: AST.TOMLKey): string[] =>
  keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value));

const entryOf = ({ key, range }: AST.TOMLKeyValue): Entry => ({ kind: "key", path: wordsOf(key), range });
const entriesOf = (table: AST.TOMLTable): Entry[] => [
  { kind: "header", path: pathOf(table), range: [table.range[0], table.key.range[1]] },
  ...table.body.map(entryOf),
];

function placesInTable(table: AST.TOMLTable): Place[] {
  const path = pathOf(table);
  const below = path.length;
  const kind = table.kind === "array" ? "array" : "table";
  return [{ path, kind, below }, ...table.body.flatMap((entry) => placesInKey(path, below, entry))];
}

function placesInKey(above: string[], below: number, { key, value }: AST.TOMLKeyValue): Place[] {
  const path = [...above, ...wordsOf(key)];
  const text = value.type === "TOMLValue" && value.kind === "string" ? { text: value.value } : {};
  const inside = value.type === "TOMLInlineTable" ? value.body.flatMap((entry) => placesInKey(path, below, entry)) : [];
  return [{ path, kind: "key", below, ...text }, ...inside];
}
