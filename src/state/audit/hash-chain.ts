import { createHash } from "node:crypto";

/** A position in the chain: the number of lines so far and the hash over all of them. */
export interface ChainLink {
  seq: number;
  hash: string;
}

export const beginning: ChainLink = { seq: 0, hash: "" };

/** Serializes an entry as JSON that ends with a hash over itself and the previous line's hash. */
export function seal<Entry extends { seq: number }>(
  entry: Entry,
  previous: ChainLink,
): { line: string; link: ChainLink } {
  const open = JSON.stringify(entry).slice(0, -1);
  const hash = hashOf(open, previous.hash);
  return { line: `${open},"hash":"${hash}"}\n`, link: { seq: entry.seq, hash } };
}

export interface ChainLine<Entry> {
  entry: Entry;
  /** The text the hash covers. */
  open: string;
  link: ChainLink;
}

/** Parses a line; undefined when it is not a chain line. */
export function unseal<Entry extends { seq: number }>(line: string): ChainLine<Entry> | undefined {
  const [, open = "", hash = ""] = /^(\{.*),"hash":"([0-9a-f]{64})"\}$/s.exec(line) ?? [];
  try {
    const entry = JSON.parse(`${open}}`) as Entry;
    return Number.isInteger(entry.seq) ? { entry, open, link: { seq: entry.seq, hash } } : undefined;
  } catch {
    return undefined;
  }
}

export function hashOf(open: string, previousHash: string): string {
  return createHash("sha256").update(`${previousHash}\n${open}`).digest("hex");
}

/** Why a line cannot follow the previous one; undefined when it can. */
export function objectionTo(
  line: ChainLine<{ seq: number; head_lost?: true }> | undefined,
  previous: ChainLink,
): string | undefined {
  if (!line) return "it is not an audit log line";
  const { seq } = line.entry;
  if (seq > previous.seq + 1) return `${entriesText(previous.seq + 1, seq - 1)} missing before it`;
  if (seq <= previous.seq) return `entry ${seq} comes after entry ${previous.seq}`;
  if (hashOf(line.open, previous.hash) !== line.link.hash) return "it was changed, or the line before it was";
  if (line.entry.head_lost) return "audit.head was lost before it was written, so lines may be missing before it";
  return undefined;
}

/** Why the last line does not match the head: lines were cut off, or the head belongs to another log. */
export function objectionToEnd(last: ChainLink, head: ChainLink | undefined): string | undefined {
  if (!head) return "audit.head is missing or unreadable, so lines may be missing after it";
  if (head.seq > last.seq) return `${entriesText(last.seq + 1, head.seq)} missing after it`;
  if (head.seq === last.seq && head.hash !== last.hash) return "it is not the line that was written last";
  return undefined;
}

export const entriesText = (from: number, to: number): string =>
  from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;
