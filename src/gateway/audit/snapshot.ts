import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
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

/** The files at one moment, oldest first, whatever the gateway does with them meanwhile. */
export class Snapshot {
  private constructor(
    private readonly dir: string,
    readonly files: readonly LogFile[],
    private readonly newest: FileHandle | undefined,
  ) {}

  /** Opens the newest file first: if it is put away before the others are listed, its inode identifies it. */
  static async of(dir: string): Promise<Snapshot> {
    const newest = await openIfThere(join(dir, current));
    const files: LogFile[] = [];
    const ino = newest && (await newest.stat()).ino;
    for (const old of oldFiles(dir)) {
      if (ino !== undefined && (await inodeOf(join(dir, old.name))) === ino) break;
      files.push(old);
    }
    if (newest) files.push({ name: current, first: undefined });
    return new Snapshot(dir, files, newest);
  }

  /** Opens each of the files that was not removed meanwhile, one after the other. */
  async *open(files: readonly LogFile[]): AsyncGenerator<OpenFile> {
    for (const file of files) {
      const isNewest = file.name === current;
      const handle = isNewest ? this.newest : await openIfThere(join(this.dir, file.name));
      if (!handle) continue;
      try {
        yield { file, handle, reader: new LogReader(handle) };
      } finally {
        if (!isNewest) await handle.close();
      }
    }
  }

  async close(): Promise<void> {
    await this.newest?.close();
  }
}

export async function* openFiles(
  dir: string,
  select: (files: readonly LogFile[]) => readonly LogFile[],
): AsyncGenerator<OpenFile> {
  const snapshot = await Snapshot.of(dir);
  try {
    yield* snapshot.open(select(snapshot.files));
  } finally {
    await snapshot.close();
  }
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
