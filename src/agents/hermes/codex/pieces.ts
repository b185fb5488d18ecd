import { outlineOf } from "./outline.js";

/** Lines of a TOML file that belong together. */
export interface Piece {
  kind: "header" | "key" | "comment" | "blank";
  /** For a header or a key. */
  path: string[];
  from: number;
  to: number;
}

export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** A value of many lines is one piece. In a file that is not valid TOML each line is one. */
export function piecesOf(text: string, lines: string[]): Piece[] {
  const outline = outlineOf(text);
  if ("reason" in outline) return lines.map((line, at) => ({ ...byLook(line), from: at, to: at + 1 }));
  const pieces: Piece[] = [];
  const entries = outline.entries.values();
  let next = entries.next().value;
  let offset = 0;
  for (let at = 0; at < lines.length; ) {
    const from = at;
    const take = () => {
      offset += lines[at++]?.length ?? 0;
    };
    take();
    if (!next || next.range[0] >= offset) pieces.push({ ...byLook(lines[from] ?? ""), from, to: at });
    else {
      while (offset < next.range[1]) take();
      pieces.push({ kind: next.kind, path: next.path, from, to: at });
      next = entries.next().value;
    }
  }
  return pieces;
}

function byLook(line: string): Pick<Piece, "kind" | "path"> {
  const text = line.trim();
  if (text === "") return { kind: "blank", path: [] };
  if (text.startsWith("#")) return { kind: "comment", path: [] };
  const outline = outlineOf(text);
  const [entry] = "reason" in outline ? [] : outline.entries;
  return { kind: entry?.kind ?? "key", path: entry?.path ?? [] };
}
