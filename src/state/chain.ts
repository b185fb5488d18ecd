import { createHash } from "node:crypto";

/** A place in a chain of lines: how many there are, and the hash that stands for all of them. */
export interface Link {
  seq: number;
  hash: string;
}

/** Before the first line. */
export const beginning: Link = { seq: 0, hash: "" };

/** The line for an entry: its JSON, closed with a hash over it and the hash of the line before. */
export function seal<Entry extends { seq: number }>(entry: Entry, previous: Link): { line: string; link: Link } {
  const open = JSON.stringify(entry).slice(0, -1);
  const hash = hashOf(open, previous.hash);
  return { line: `${open},"hash":"${hash}"}\n`, link: { seq: entry.seq, hash } };
}

export interface Unsealed<Entry> {
  entry: Entry;
  /** What the hash was made over. */
  open: string;
  link: Link;
}

/** A line taken apart; nothing when it is not one of ours. */
export function unseal<Entry extends { seq: number }>(line: string): Unsealed<Entry> | undefined {
  const match = /^(\{.*),"hash":"([0-9a-f]{64})"\}$/s.exec(line);
  const [, open = "", hash = ""] = match ?? [];
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

/** What says that a line does not stand where it was written, after the one before. */
export function objectionTo(
  line: Unsealed<{ seq: number; head_lost?: true }> | undefined,
  previous: Link,
): string | undefined {
  if (!line) return "it is not a line of the audit log";
  const { seq } = line.entry;
  if (seq > previous.seq + 1) return `${entriesText(previous.seq + 1, seq - 1)} missing before it`;
  if (seq <= previous.seq) return `entry ${seq} stands after entry ${previous.seq}`;
  if (hashOf(line.open, previous.hash) !== line.link.hash) return "it was changed, or the line before it was";
  if (line.entry.head_lost) return "audit.head was lost before it was written, so lines may be missing before it";
  return undefined;
}

/** What a head that was not written for this log, or lines cut off its end, come to. */
export function objectionToEnd(last: Link, head: Link | undefined): string | undefined {
  if (!head) return "audit.head is missing or unreadable, so lines may be missing after it";
  if (head.seq > last.seq) return `${entriesText(last.seq + 1, head.seq)} missing after it`;
  if (head.seq === last.seq && head.hash !== last.hash) return "it is not the line that was written last";
  return undefined;
}

export const entriesText = (from: number, to: number): string =>
  from === to ? `entry ${from} is` : `entries ${from} to ${to} are`;
