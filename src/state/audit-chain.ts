import { createHash } from "node:crypto";

/** A place in the chain: how many lines there are, and the hash that stands for all of them. */
export interface Link {
  seq: number;
  hash: string;
}

/** Who ran clm. */
export interface Who {
  user: string;
  uid: number;
  host: string;
  pid: number;
  /** The user who called sudo. */
  sudo_user?: string;
}

/** One line of the audit log. */
export interface AuditEntry {
  seq: number;
  at: string;
  event: "begin" | "end";
  /** The same at begin and end of one command. */
  id: string;
  verb: string;
  target: string;
  who: Who;
  /** The words typed, with secrets taken out. Only at begin. */
  argv?: string[];
  /** Only at end. */
  result?: "ok" | "failed" | "interrupted";
  /** The fault's code. Only at the end of what went wrong. */
  fault?: string;
  /** Bytes of an unfinished line that were cut before this one was written: its writer was killed. */
  cut_bytes?: number;
  /** `audit.head` was missing, unreadable or old when this was written: what was cut off before it cannot be known. */
  head_lost?: true;
}

/** Before the first line. */
export const beginning: Link = { seq: 0, hash: "" };

/** The line for an entry: its JSON, closed with a hash over it and the hash of the line before. */
export function seal(entry: AuditEntry, previous: Link): { line: string; link: Link } {
  const open = JSON.stringify(entry).slice(0, -1);
  const hash = hashOf(open, previous.hash);
  return { line: `${open},"hash":"${hash}"}\n`, link: { seq: entry.seq, hash } };
}

/** A line taken apart; nothing when it is not one of ours. `open` is what the hash was made over. */
export function unseal(line: string): { entry: AuditEntry; open: string; link: Link } | undefined {
  const match = /^(\{.*),"hash":"([0-9a-f]{64})"\}$/s.exec(line);
  const [, open = "", hash = ""] = match ?? [];
  try {
    const entry = JSON.parse(`${open}}`) as AuditEntry;
    return Number.isInteger(entry.seq) ? { entry, open, link: { seq: entry.seq, hash } } : undefined;
  } catch {
    return undefined;
  }
}

export function hashOf(open: string, previousHash: string): string {
  return createHash("sha256").update(`${previousHash}\n${open}`).digest("hex");
}
