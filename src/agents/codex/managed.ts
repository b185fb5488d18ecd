import { Fault } from "../../errors.js";
import { closing, opening } from "./block.js";
import { type Flaw, type Outline, outlineOf } from "./outline.js";

/** A config.toml without what Hermes or clm put into it. */
export interface UsersPart {
  /** A byte order mark, if the file begins with one. */
  mark: string;
  text: string;
  outline: Outline;
  /** Servers that stood in a block without an end and may be the user's: they are kept. */
  unsure: string[];
  /** Servers that stood in a block. */
  dropped: string[];
}

/** Whether a block could have it: a server by its name, a plugin by its title. */
export interface Ours {
  server: (name: string) => boolean;
  plugin: (title: string) => boolean;
}

/**
 * Takes the managed block out of a file; everything else stays as it is. Where the block's end is missing, the user's own
 * servers may stand right behind it.
 */
export function usersPart(file: string, ours: Ours): UsersPart {
  const [mark = ""] = /^\ufeff/.exec(file) ?? [];
  const whole = file.slice(mark.length);
  const lines = whole.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const marks = marksIn(whole, lines);
  const kept: number[] = [];
  const unsure: string[] = [];
  const dropped: string[] = [];
  for (let at = 0; at < lines.length; ) {
    if (marks[at] !== opening) kept.push(at++);
    else if (endsProperly(marks, at)) {
      const end = marks.indexOf(closing, at);
      kept.push(...strangersIn(lines, at + 1, end, { ours, dropped }));
      at = behind(lines, end);
    } else at = behindRest(lines, at + 1, { ours, kept, unsure });
  }
  const text = kept.map((index) => lines[index]).join("");
  const outline = outlineOf(text);
  if ("reason" in outline) throw unreadable({ ...outline, line: (kept[outline.line - 1] ?? lines.length - 1) + 1 });
  return { mark, text, outline, unsure, dropped };
}

const isBlank = (line: string | undefined): boolean => line?.trim() === "";

/** The markers by line. One that is a part of a text is none; that can be told only of a file that is TOML. */
function marksIn(whole: string, lines: string[]): (string | undefined)[] {
  const outline = outlineOf(whole);
  let offset = 0;
  return lines.map((line) => {
    const start = offset;
    offset += line.length;
    const mark = [opening, closing].find((each) => line.trimEnd() === each);
    return "reason" in outline || outline.comments.has(start) ? mark : undefined;
  });
}

function endsProperly(marks: (string | undefined)[], at: number): boolean {
  const end = marks.indexOf(closing, at);
  const next = marks.indexOf(opening, at + 1);
  return end >= 0 && (next < 0 || end < next);
}

/**
 * Lines in a block that did not come with it. Codex adds what it has to remember, and plugins, behind the last table of the
 * file, which is before the line that ends the block when nothing else follows; and what somebody sets in it behind the last
 * key of the root, which is ours when there is no other.
 */
function strangersIn(lines: string[], from: number, end: number, { ours, dropped }: { ours: Ours; dropped: string[] }) {
  const kept: number[] = [];
  let place: "root" | "ours" | "foreign" = "root";
  for (let at = from; at < end; at++) {
    const line = lines[at] as string;
    const [kind, name = "", ...below] = line.startsWith("[") ? headerIn(line) : [];
    if (kind === "mcp_servers") dropped.push([name, ...below].join("."));
    if (kind !== undefined) {
      const isOurs = kind === "plugins" ? ours.plugin(name) : kind === "mcp_servers";
      place = isOurs ? "ours" : "foreign";
    }
    const isKey = place === "root" && !isBlank(line) && !/^(#|default_permissions\s*=)/.test(line);
    if (place === "foreign" || isKey) kept.push(at);
  }
  // The empty line before the end was the block's.
  if (end === lines.length - 1 && isBlank(lines[kept.at(-1) ?? -1])) kept.pop();
  return kept;
}

/** The empty line between the block and what follows is the block's. */
const behind = (lines: string[], end: number): number =>
  isBlank(lines[end + 1]) && end + 2 < lines.length ? end + 2 : end + 1;

interface Search {
  ours: Ours;
  kept: number[];
  unsure: string[];
}

/** Where a block without an end must have ended: before anything that Hermes does not write. */
function behindRest(lines: string[], from: number, { ours, kept, unsure }: Search): number {
  let table: "none" | "ours" | "unsure" = "none";
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] as string;
    if (isBlank(line) || line.startsWith("# (no MCP servers")) continue;
    if (line.startsWith("[")) {
      const [kind, name = ""] = headerIn(line);
      if (kind !== "mcp_servers" && kind !== "plugins") return at;
      table = kind === "plugins" || ours.server(name) ? "ours" : "unsure";
      if (table === "unsure") unsure.push(name);
    } else if (line.startsWith("#") || (table === "none" && !/^default_permissions\s*=/.test(line))) return at;
    if (table === "unsure") kept.push(at);
  }
  return lines.length;
}

function headerIn(line: string): string[] {
  const outline = outlineOf(line);
  return "reason" in outline ? [] : (outline.places[0]?.path ?? []);
}

const unreadable = ({ line, column, reason }: Flaw): Fault =>
  new Fault("bad-input", `config.toml on the host cannot be read: line ${line}, column ${column}`, {
    why: [reason, "Codex reads none of it as it is: mend it there, or move it away"],
    data: { line, column },
  });

/** The file with a block in it: before the first table and the comment above it, for behind a table there is no way back to the root. */
export function withBlock({ mark, text, outline }: UsersPart, block: string): string {
  const at = placeFor(text, outline);
  const [above, below] = [text.slice(0, at), text.slice(at)];
  const eol = /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
  const before = /^$|(^|\n)[ \t]*\r?\n$/.test(above) ? "" : above.endsWith("\n") ? eol : eol + eol;
  return `${mark}${above}${before}${block.replaceAll("\n", eol)}${below === "" ? "" : eol}${below}`;
}

function placeFor(text: string, { firstTable, comments }: Outline): number {
  if (firstTable === undefined) return text.length;
  const startOf = (at: number) => text.lastIndexOf("\n", at - 1) + 1;
  let place = startOf(firstTable);
  for (;;) {
    const above = place > 0 ? startOf(place - 1) : -1;
    if (above < 0 || !comments.has(above)) break;
    place = above;
  }
  return place;
}
