import { join } from "node:path";
import { writeAtomic } from "../../state/atomic-file.js";
import { writeAtomicAsync } from "../../state/atomic-file-async.js";
import type { ChainLink } from "../../state/audit/hash-chain.js";
import { readStateFile } from "../../state/state-file.js";
import { objectFrom } from "../../text/json-object.js";

/** `audit.head`: all lines between the last one removed with an old file and the last one on the disk must exist. */
export interface Head extends ChainLink {
  after: ChainLink;
}

const pathIn = (dir: string): string => join(dir, "audit.head");

const textOf = ({ seq, hash, after }: Head): string =>
  `${JSON.stringify({ seq, hash, after: { seq: after.seq, hash: after.hash } })}\n`;

/** Undefined when it is missing or damaged in any byte: then the end of the log is not known. */
export function readHead(dir: string): Head | undefined {
  const text = readStateFile(pathIn(dir), false)?.text ?? "";
  const head = objectFrom<Head>(text);
  return isLink(head) && isLink(head.after) && textOf(head) === text ? head : undefined;
}

const isLink = (link: ChainLink | undefined): link is ChainLink =>
  Number.isSafeInteger(link?.seq) && typeof link?.hash === "string";

export const writeHead = (dir: string, head: Head): void => writeAtomic(pathIn(dir), textOf(head));
/** The same without blocking requests. */
export const writeHeadBeside = (dir: string, head: Head): Promise<void> => writeAtomicAsync(pathIn(dir), textOf(head));
