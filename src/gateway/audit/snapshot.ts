import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../state/disk-fault.js";
import { unreadable } from "../../state/state-file.js";
import { current, oldFiles } from "./files.js";

/** A file of the log. */
export interface LogFile {
  name: string;
  /** The seq of its first line as its name says it; nothing for the one that lines are added to. */
  first: number | undefined;
}

/** The files as of one moment, oldest first, whatever the gateway does with them meanwhile. */
export interface Snapshot {
  files: LogFile[];
  /** Gives its content, or nothing when it is gone. */
  open(file: LogFile): Promise<FileHandle | undefined>;
  close(): Promise<void>;
}

/** Takes hold of the newest file first: when it is put away before the others are listed, it is known by its inode. */
export async function snapshotOf(dir: string): Promise<Snapshot> {
  const newest = await openIfThere(join(dir, current));
  const files: LogFile[] = [];
  const ino = newest && (await newest.stat()).ino;
  for (const old of oldFiles(dir)) {
    if (ino !== undefined && (await inodeOf(join(dir, old.name))) === ino) break;
    files.push(old);
  }
  if (newest) files.push({ name: current, first: undefined });
  return {
    files,
    open: async ({ name }) => (name === current ? newest : openIfThere(join(dir, name))),
    close: async () => newest?.close(),
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw unreadable(path, error);
  }
}

/** Nothing when there is no such file. */
export async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
