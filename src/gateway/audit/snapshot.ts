import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../state/disk-fault.js";
import { unreadable } from "../../state/state-file.js";
import { current, oldFiles } from "./files.js";

export interface LogFile {
  name: string;
  /** The seq of its first line, by its name; undefined for the current file. */
  first: number | undefined;
}

/** The files at one moment, oldest first, whatever the gateway does with them meanwhile. */
export interface Snapshot {
  files: LogFile[];
  /** Undefined when it was removed meanwhile. */
  open(file: LogFile): Promise<FileHandle | undefined>;
  close(): Promise<void>;
}

/** Opens the newest file first: if it is put away before the others are listed, its inode identifies it. */
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

export async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
