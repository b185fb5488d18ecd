import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tempName, writeAtomic } from "../../state/atomic-file.js";
import type { Link } from "../../state/chain.js";
import { errnoOf } from "../../state/disk-fault.js";
import { readStateFile } from "../../state/state-file.js";

/**
 * `audit.head` says between which two places of the chain every line must be there: after the last one that we removed with an
 * old file, up to the last one that is known to be on the disk. It exists before the first line.
 */
export interface Head extends Link {
  after: Link;
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

const isLink = (link: Link): boolean => Number.isSafeInteger(link.seq) && typeof link.hash === "string";

export const writeHead = (dir: string, head: Head): void => writeAtomic(pathIn(dir), textOf(head));

/** The same without holding up the requests: a disk may take as long for it as a hundred of them. */
export async function writeHeadBeside(dir: string, head: Head): Promise<void> {
  const path = pathIn(dir);
  const temp = join(dir, tempName("audit.head"));
  try {
    const file = await open(temp, "wx", 0o600);
    try {
      await file.writeFile(textOf(head));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temp, path);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems cannot sync a directory, and need not.
    if (!["EINVAL", "ENOTSUP", "EBADF"].includes(errnoOf(error) ?? "")) throw error;
  } finally {
    await handle.close();
  }
}
