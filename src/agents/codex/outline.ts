import { type AST, ParseError, parseTOML } from "toml-eslint-parser";

/** A table or a key, and where it is in the tree. */
export interface Place {
  path: string[];
  kind: "table" | "key";
  /** Of a key whose value is a text. */
  text?: string;
}

/** What is where in a TOML file. */
export interface Outline {
  /** Where the first table begins, if there is one: what comes before it belongs to the root. */
  firstTable?: number;
  /** Where comments begin. */
  comments: Set<number>;
  /** Also what stands in braces. */
  places: Place[];
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
    places: body.flatMap((node) => (node.type === "TOMLTable" ? placesInTable(node) : placesInKey([], node))),
  };
}

function placesInTable({ resolvedKey, body }: AST.TOMLTable): Place[] {
  const path = resolvedKey.filter((key) => typeof key === "string");
  return [{ path, kind: "table" }, ...body.flatMap((entry) => placesInKey(path, entry))];
}

function placesInKey(above: string[], { key, value }: AST.TOMLKeyValue): Place[] {
  const path = [...above, ...key.keys.map((each) => (each.type === "TOMLBare" ? each.name : each.value))];
  const text = value.type === "TOMLValue" && value.kind === "string" ? { text: value.value } : {};
  const inside = value.type === "TOMLInlineTable" ? value.body.flatMap((entry) => placesInKey(path, entry)) : [];
  return [{ path, kind: "key", ...text }, ...inside];
}
