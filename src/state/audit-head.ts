import { join } from "node:path";
import { writeAtomic } from "./atomic-file.js";
import type { Link } from "./chain.js";
import { readStateFile } from "./state-file.js";

/**
 * `audit.head` holds the place of the last line, so that lines cut off the end are missed. It exists before the first
 * line and is written again after each: a crash between the two leaves it one behind, never more, because the next
 * writer brings it up first.
 */
export function readHead(dir: string): Link | undefined {
  const text = readStateFile(join(dir, "audit.head"), false)?.text;
  if (text === undefined) return undefined;
  try {
    const head = JSON.parse(text) as Partial<Link>;
    if (Number.isInteger(head.seq) && typeof head.hash === "string") return head as Link;
  } catch {
    // Told apart from a missing one by nobody: both mean that the end of the log cannot be vouched for.
  }
  return undefined;
}

export function writeHead(dir: string, { seq, hash }: Link, beforeRename: () => void): void {
  writeAtomic(join(dir, "audit.head"), `${JSON.stringify({ seq, hash })}\n`, { beforeRename });
}
