import { Fault } from "../../../errors.js";
import { type Additions, closing, headerOf, nothingInIt, opening } from "./block.js";
import { type Flaw, type Outline, outlineOf } from "./outline.js";
import { linesOf, type Piece, piecesOf } from "./pieces.js";

/** A config.toml without the parts of Hermes and clm. */
export interface UsersPart {
  /** A byte order mark, if the file begins with one. */
  mark: string;
  text: string;
  outline: Outline;
  /** Servers in a block that may be the user's, and are kept: `codex mcp add` moves all servers to one place. */
  unsure: Set<string>;
  dropped: Set<string>;
  additions: Additions;
}

/** The parts that Hermes or clm wrote to config.toml, or write now. */
export interface Ours {
  server: (name: string) => boolean;
  plugin: (title: string) => boolean;
  /** Nothing else was ever written. When unknown, every server in a block with an end is taken for Hermes'. */
  whole: boolean;
}

/** Removes the managed block, and nothing else. When its end is missing, the user's own servers may follow directly. */
export function usersPart(file: string, ours: Ours): UsersPart {
  const [mark = ""] = /^\ufeff/.exec(file) ?? [];
  const whole = file.slice(mark.length);
  const lines = linesOf(whole);
  const pieces = piecesOf(whole, lines);
  const marks = pieces.map((piece) => markOf(piece, lines));
  const search: Search = {
    ours,
    lines,
    pieces,
    outside: headersOutside(pieces, marks),
    kept: [],
    unsure: new Set(),
    dropped: new Set(),
    additions: new Map(),
  };
  for (let at = 0; at < pieces.length; ) {
    if (marks[at] !== opening) keep(search, pieces[at++]);
    else if (endsProperly(marks, at)) {
      const end = marks.indexOf(closing, at);
      keepStrangers(search, at + 1, end);
      at = behind(pieces, end);
    } else at = behindRest(search, at + 1);
  }
  const { kept, unsure, dropped, additions } = search;
  const text = kept.map((index) => lines[index]).join("");
  const outline = outlineOf(text);
  if ("reason" in outline) throw unreadable({ ...outline, line: (kept[outline.line - 1] ?? lines.length - 1) + 1 });
  return { mark, text, outline, unsure, dropped, additions };
}

interface Search extends Pick<UsersPart, "unsure" | "dropped"> {
  ours: Ours;
  lines: string[];
  pieces: Piece[];
  /** Headers outside of any block. */
  outside: Set<string>;
  /** Indexes of lines. */
  kept: number[];
  additions: Map<string, string>;
}

function keep({ kept }: Search, piece: Piece | undefined): void {
  for (let line = piece?.from ?? 0; line < (piece?.to ?? 0); line++) kept.push(line);
}

/** A marker inside a string value does not count. */
function markOf({ kind, from }: Piece, lines: string[]): string | undefined {
  return kind === "comment" ? [opening, closing].find((each) => each === lines[from]?.trimEnd()) : undefined;
}

function endsProperly(marks: (string | undefined)[], at: number): boolean {
  const end = marks.indexOf(closing, at);
  const next = marks.indexOf(opening, at + 1);
  return end >= 0 && (next < 0 || end < next);
}

function headersOutside(pieces: Piece[], marks: (string | undefined)[]): Set<string> {
  const found = new Set<string>();
  let inside = false;
  for (const [at, { kind, path }] of pieces.entries()) {
    if (marks[at] === opening) inside = endsProperly(marks, at);
    else if (marks[at] === closing) inside = false;
    else if (!inside && kind === "header") found.add(headerOf(...path));
  }
  return found;
}

type TableOwner = { whose: "ours" | "foreign" } | { whose: "addition"; to: string };

function ownerOf({ path }: Piece, { ours, outside }: Search): TableOwner {
  const [kind = "", name = "", part] = path;
  if (kind === "plugins" ? !ours.plugin(name) : kind !== "mcp_servers" || (ours.whole && !ours.server(name)))
    return { whose: "foreign" };
  // Permissions for a server's tools are never ours; of a plugin only whether it is enabled.
  const isMore = kind === "plugins" ? part !== undefined : part === "tools";
  // The user's own table elsewhere takes precedence, and its subtables belong to it.
  if (!isMore || outside.has(headerOf(...path))) return { whose: "ours" };
  const table = headerOf(kind, name);
  return outside.has(table) ? { whose: "foreign" } : { whose: "addition", to: table };
}

/**
 * Keeps foreign lines in a block. Codex appends settings and plugins after the last table of the file, which is before
 * the closing line when nothing follows the block; and root keys after the last one, which may be ours.
 */
function keepStrangers(search: Search, from: number, end: number): void {
  const { lines, pieces, kept, unsure, dropped, additions } = search;
  const before = kept.length;
  let place: TableOwner | undefined;
  for (const piece of pieces.slice(from, end)) {
    const [name, server] = piece.path;
    if (piece.kind === "header") place = ownerOf(piece, search);
    if (piece.kind === "header" && name === "mcp_servers" && server !== undefined)
      (place?.whose === "foreign" && !search.ours.server(server) ? unsure : dropped).add(server);
    const isOwnComment = piece.kind === "comment" && lines[piece.from]?.trimEnd() !== nothingInIt;
    if (place?.whose === "addition") add(additions, place.to, lines.slice(piece.from, piece.to));
    else if (place?.whose === "foreign" || isOwnComment) keep(search, piece);
    else if (!place && piece.kind === "key" && name !== "default_permissions") keep(search, piece);
  }
  // The empty line before the end belonged to the block.
  if (end === pieces.length - 1 && kept.length > before && lines[kept.at(-1) ?? -1]?.trim() === "") kept.pop();
}

function add(additions: Map<string, string>, to: string, lines: string[]): void {
  additions.set(to, `${additions.get(to) ?? ""}${lines.join("").replaceAll("\r\n", "\n")}`);
}

/** The empty line after the block belongs to it. */
const behind = (pieces: Piece[], end: number): number =>
  pieces[end + 1]?.kind === "blank" && end + 2 < pieces.length ? end + 2 : end + 1;

/** A block without an end ends before anything that Hermes does not write. */
function behindRest(search: Search, from: number): number {
  const { ours, lines, pieces, unsure } = search;
  let table: "none" | "ours" | "unsure" = "none";
  for (let at = from; at < pieces.length; at++) {
    const piece = pieces[at] as Piece;
    const [kind, name = ""] = piece.path;
    if (piece.kind === "blank" || lines[piece.from]?.trimEnd() === nothingInIt) continue;
    if (piece.kind === "comment") return at;
    if (piece.kind === "header") {
      if (kind !== "mcp_servers" && kind !== "plugins") return at;
      table = kind === "plugins" || ours.server(name) ? "ours" : "unsure";
      if (table === "unsure") unsure.add(name);
    } else if (table === "none" && kind !== "default_permissions") return at;
    if (table === "unsure") keep(search, piece);
  }
  return pieces.length;
}

const unreadable = ({ line, column, reason }: Flaw): Fault =>
  new Fault("bad-input", `config.toml on the host cannot be read: line ${line}, column ${column}`, {
    why: [reason, "Codex reads none of it: fix the file, or move it away"],
    data: { line, column },
  });

/** Inserts the block before the first table and the comment above it: after a table, keys do not belong to the root any more. */
export function withBlock({ mark, text, outline }: UsersPart, block: string): string {
  const at = placeFor(text, outline);
  const [above, below] = [text.slice(0, at), text.slice(at)];
  const eol = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  const before = /^$|(^|\n)[ \t]*\r?\n$/.test(above) ? "" : above.endsWith("\n") ? eol : eol + eol;
  return `${mark}${above}${before}${block.replaceAll("\n", eol)}${below === "" ? "" : eol}${below}`;
}

function placeFor(text: string, { firstTable, comments }: Outline): number {
  if (firstTable === undefined) return text.length;
  // lastIndexOf takes a negative index for 0.
  const startOf = (at: number) => (at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1);
  let place = startOf(firstTable);
  for (;;) {
    const above = place > 0 ? startOf(place - 1) : -1;
    if (above < 0 || !comments.has(above)) break;
    place = above;
  }
  return place;
}
