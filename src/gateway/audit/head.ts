import { join } from "node:path";
import { writeAtomic } from "../../state/atomic-file.js";
import { writeAtomicAsync } from "../../state/atomic-file-async.js";
import type { ChainLink } from "../../state/audit/hash-chain.js";
import { readStateFile } from "../../state/state-file.js";

/**
 * `audit.head` says between which two places of the chain every line must be there: after the last one that we removed with an
 * old file, up to the last one that is known to be on the disk. It exists before the first line.
 */
export interface Head extends ChainLink {
  after: ChainLink;
}

const pathIn = (dir: string): string => join(dir, "audit.head");

const textOf = ({ seq, hash, after }: Head): string =>
  `${JSON.stringify({ seq, hash, after: { seq: after.seq, hash: after.hash } })}\n`;

/** Nothing when it is missing or is not, to the byte, what we write. */
export function readHead(dir: string): Head | undefined {
  const text = readStateFile(pathIn(dir), false)?.text;
  if (text === undefined) return undefined;
  try {
    const head = JSON.parse(text) as Head;
    if (isLink(head) && isLink(head.after) && textOf(head) === text) return head;
  } catch {
    // As good as missing: the end of the log cannot be vouched for.
  }
  return undefined;
}

const isLink = (link: ChainLink): boolean => Number.isSafeInteger(link.seq) && typeof link.hash === "string";

export const writeHead = (dir: string, head: Head): void => writeAtomic(pathIn(dir), textOf(head));

/** The same without holding up the requests. */
export const writeHeadBeside = (dir: string, head: Head): Promise<void> => writeAtomicAsync(pathIn(dir), textOf(head));
