import { Fault } from "../../../errors.js";
import { closing, headerOf, nothingInIt, opening, tablesOfHermes } from "./block.js";
import { isHeader, type Piece, piecesByLine, piecesOf, textOf } from "./toml-pieces.js";

/** A config.toml without the parts of Hermes and clm. */
export interface UsersPart {
  /** A byte order mark, if the file begins with one. */
  mark: string;
  pieces: Piece[];
  /** Servers that may be the user's, and are kept: `codex mcp add` moves all servers to one place. */
  unsure: Set<string>;
  dropped: Set<string>;
  /** Lines that Codex added to tables of a block, by their headers. */
  additions: Map<string, string>;
}

/** The parts that Hermes or clm wrote to config.toml, or write now. */
export interface Ours {
  server: (name: string) => boolean;
  plugin: (title: string) => boolean;
  /** Nothing else was ever written. When unknown, every server in a block with an end is taken for Hermes'. */
  whole: boolean;
}

/** Removes the managed block, and nothing else. */
export function usersPart(file: string, ours: Ours): UsersPart {
  const mark = file.startsWith("\ufeff") ? "\ufeff" : "";
  const text = file.slice(mark.length);
  const parsed = piecesOf(text);
  const all = Array.isArray(parsed) ? parsed : piecesByLine(text);
  const sections = sectionsOf(all);
  const outside = sections.flatMap(({ kind, pieces }) => (kind === "user" ? pieces.filter(isHeader) : []));
  const headers = new Set(outside.map(({ path }) => headerOf(path)));
  const content: BlockContent = { unsure: new Set(), dropped: new Set(), additions: new Map() };
  const kept = sections.flatMap((section) =>
    section.kind === "user" ? section.pieces : strangersIn(section, ours, headers, content),
  );
  const pieces = piecesOf(textOf(kept));
  if (Array.isArray(pieces)) return { mark, pieces, ...content };
  const [line, column] = [lineInFile(all, kept, pieces.lineNumber), pieces.column + 1];
  throw new Fault("bad-input", `config.toml on the host cannot be read: line ${line}, column ${column}`, {
    why: [pieces.message, "Codex reads none of it: fix the file, or move it away"],
    data: { line, column },
  });
}

type BlockContent = Omit<UsersPart, "mark" | "pieces">;

interface Section {
  kind: "user" | "block" | "block without end";
  pieces: Piece[];
  /** Nothing follows the block. */
  isLast?: boolean;
}

/** A marker inside a string value does not count. */
const isMark = ({ kind, lines: [line] }: Piece, ...marks: string[]): boolean =>
  kind === "comment" && marks.includes(line?.trimEnd() ?? "");

/** The user's lines and the blocks in turn, beginning and ending with the user's. */
function sectionsOf(pieces: Piece[]): Section[] {
  const sections: Section[] = [];
  let rest = pieces;
  for (;;) {
    const start = rest.findIndex((piece) => isMark(piece, opening));
    if (start < 0) return [...sections, { kind: "user", pieces: rest }];
    sections.push({ kind: "user", pieces: rest.slice(0, start) });
    rest = rest.slice(start + 1);
    const next = rest.find((piece) => isMark(piece, opening, closing));
    if (next && isMark(next, closing)) {
      const end = rest.indexOf(next);
      sections.push({ kind: "block", pieces: rest.slice(0, end), isLast: end === rest.length - 1 });
      // The empty line after the block belongs to it.
      const isBlank = rest[end + 1]?.kind === "blank" && rest.length > end + 2;
      rest = rest.slice(isBlank ? end + 2 : end + 1);
    } else {
      const end = endOfHermes(rest);
      const pieces = rest.slice(0, end).filter(({ kind }) => kind !== "blank");
      sections.push({ kind: "block without end", pieces });
      rest = rest.slice(end);
    }
  }
}

/** A block without an end ends before anything that Hermes does not write. */
function endOfHermes(pieces: Piece[]): number {
  const table = pieces.findIndex(isHeader);
  const end = pieces.findIndex((piece, at) => isForeign(piece, table >= 0 && at >= table));
  return end < 0 ? pieces.length : end;
}

function isForeign(piece: Piece, inTable: boolean): boolean {
  switch (piece.kind) {
    case "blank":
      return false;
    case "comment":
      return !isMark(piece, nothingInIt);
    case "key":
      return !inTable && piece.path[piece.header] !== "default_permissions";
    default:
      return !tablesOfHermes.includes(piece.path[0]);
  }
}

/**
 * The user's pieces in a block. Codex appends settings and plugins after the last table of the file, which is before
 * the closing line when nothing follows the block; and root keys after the last one, which may be ours.
 */
function strangersIn(section: Section, known: Ours, outside: Set<string>, content: BlockContent): Piece[] {
  const { kind, pieces, isLast } = section;
  const { unsure, dropped, additions } = content;
  // In a block without an end, the user's own servers may follow directly.
  const ours = kind === "block" ? known : { ...known, plugin: () => true, whole: true };
  const kept: Piece[] = [];
  let owner: TableOwner | undefined;
  let table = "";
  for (const piece of pieces) {
    if (isHeader(piece)) {
      const [first, name] = piece.path;
      owner = ownerOf(piece.path, ours, outside);
      table = headerOf(piece.path.slice(0, 2));
      if (first === "mcp_servers" && name !== undefined)
        (owner === "user" && !ours.server(name) ? unsure : dropped).add(name);
    }
    if (owner === "addition") additions.set(table, (additions.get(table) ?? "") + textOf([piece]));
    else if (owner === "user" || isForeign(piece, owner !== undefined)) kept.push(piece);
  }
  // The empty line before the end belonged to the block.
  if (isLast && kept.at(-1)?.kind === "blank") kept.pop();
  return kept;
}

type TableOwner = "ours" | "user" | "addition";

function ownerOf(path: string[], ours: Ours, outside: Set<string>): TableOwner {
  const [kind = "", name = "", part] = path;
  if (kind === "plugins" ? !ours.plugin(name) : kind !== "mcp_servers" || (ours.whole && !ours.server(name)))
    return "user";
  // Permissions for a server's tools are never ours; of a plugin only whether it is enabled.
  const isMore = kind === "plugins" ? part !== undefined : part === "tools";
  // The user's own table elsewhere takes precedence, and its subtables belong to it.
  if (!isMore || outside.has(headerOf(path))) return "ours";
  return outside.has(headerOf([kind, name])) ? "user" : "addition";
}

/** The number in the file of a line among those that are kept. */
function lineInFile(all: Piece[], kept: Piece[], line: number): number {
  const isKept = new Set(kept);
  const lines = all.flatMap((piece) => piece.lines.map(() => isKept.has(piece)));
  const numbers = lines.flatMap((each, at) => (each ? at + 1 : []));
  return numbers[line - 1] ?? lines.length;
}

/** Inserts the block before the first table and the comment above it: keys after a table do not belong to the root. */
export function withBlock({ mark, pieces }: UsersPart, block: string): string {
  let first = pieces.findIndex(isHeader);
  while (pieces[first - 1]?.kind === "comment") first--;
  const at = first < 0 ? pieces.length : first;
  const [above, below] = [textOf(pieces.slice(0, at)), textOf(pieces.slice(at))];
  const eol = pieces[0]?.lines[0]?.endsWith("\r\n") ? "\r\n" : "\n";
  const before = /^$|(^|\n)[ \t]*\r?\n$/.test(above) ? "" : above.endsWith("\n") ? eol : eol + eol;
  return `${mark}${above}${before}${block.replaceAll("\n", eol)}${below === "" ? "" : eol}${below}`;
}
