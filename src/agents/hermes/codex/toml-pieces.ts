import { type AST, ParseError, parseTOML } from "toml-eslint-parser";

/** Lines of a TOML file that belong together: a header, a key with its value, or one line between them. */
export interface Piece {
  kind: "table" | "array" | "key" | "comment" | "blank";
  /** Of a header; of a key together with its header. */
  path: string[];
  /** The length of the header's path. */
  header: number;
  /** The value of a key, if it is a string. */
  value?: string;
  /** With their ends. */
  lines: string[];
}

export const isHeader = ({ kind }: Piece): boolean => kind === "table" || kind === "array";

export const textOf = (pieces: readonly Piece[]): string => pieces.flatMap(({ lines }) => lines).join("");

/** The error for a text that is not valid TOML. */
export function piecesOf(text: string): Piece[] | ParseError {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(text, { tomlVersion: "next" });
  } catch (error) {
    if (error instanceof ParseError) return error;
    throw error;
  }
  const pieces: Piece[] = [];
  let done = 0;
  for (const { range, ...entry } of program.body[0].body.flatMap(entriesOf)) {
    const from = text.lastIndexOf("\n", range[0]) + 1;
    pieces.push(...piecesBetween(text.slice(done, from)));
    done = text.indexOf("\n", range[1]) + 1 || text.length;
    pieces.push({ ...entry, lines: linesOf(text.slice(from, done)) });
  }
  return [...pieces, ...piecesBetween(text.slice(done))];
}

/** For a file that is not valid TOML: each line by itself. */
export const piecesByLine = (text: string): Piece[] =>
  linesOf(text).map((line) => {
    const pieces = piecesOf(line);
    return (Array.isArray(pieces) && pieces[0]) || { kind: "key", path: [], header: 0, lines: [line] };
  });

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

const piecesBetween = (text: string): Piece[] =>
  linesOf(text).map((line) => ({ kind: line.trim() === "" ? "blank" : "comment", path: [], header: 0, lines: [line] }));

type Entry = Omit<Piece, "lines"> & { range: readonly [number, number] };

function entriesOf(node: AST.TOMLTable | AST.TOMLKeyValue): Entry[] {
  if (node.type === "TOMLKeyValue") return [entryOf([], node)];
  const path = node.resolvedKey.filter((key) => typeof key === "string");
  const kind = node.kind === "array" ? "array" : "table";
  return [
    { kind, path, header: path.length, range: node.key.range },
    ...node.body.map((entry) => entryOf(path, entry)),
  ];
}

function entryOf(above: string[], { key, value, range }: AST.TOMLKeyValue): Entry {
  const path = [...above, ...key.keys.map((each) => (each.type === "TOMLBare" ? each.name : each.value))];
  const text = value.type === "TOMLValue" && value.kind === "string" ? { value: value.value } : {};
  return { kind: "key", path, header: above.length, ...text, range };
}
