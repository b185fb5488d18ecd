import { constants, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../../state/disk-fault.js";
import { unreadable } from "../../state/state-file.js";
import { current, oldFiles } from "./files.js";
import { LogReader } from "./log-reader.js";

export interface LogFile {
  name: string;
  /** The seq of its first line, by its name; undefined for the current file. */
  first: number | undefined;
}

export interface OpenFile {
  file: LogFile;
  handle: FileHandle;
  reader: LogReader;
}

/**
 * Opens those files of the log that are selected and were not removed meanwhile, one after the other. They are the files at one
 * moment, oldest first, whatever the gateway does with them meanwhile.
 */
export async function* openFiles(
  dir: string,
  select: (files: readonly LogFile[]) => readonly LogFile[],
): AsyncGenerator<OpenFile> {
  // Opened first: if it is put away before the others are listed, its inode identifies it.
  const newest = await openIfThere(join(dir, current));
  try {
    for (const file of select(await filesUntil(dir, newest))) {
      const handle = file.name === current ? newest : await openIfThere(join(dir, file.name));
      if (!handle) continue;
      try {
        yield { file, handle, reader: new LogReader(handle) };
      } finally {
        if (handle !== newest) await handle.close();
      }
    }
  } finally {
    await newest?.close();
  }
}

async function filesUntil(dir: string, newest: FileHandle | undefined): Promise<LogFile[]> {
  const files: LogFile[] = [];
  const ino = newest && (await newest.stat()).ino;
  for (const old of oldFiles(dir)) {
    if (ino !== undefined && inodeOf(join(dir, old.name)) === ino) break;
    files.push(old);
  }
  if (newest) files.push({ name: current, first: undefined });
  return files;
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw unreadable(path, error);
  }
}

export const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;
