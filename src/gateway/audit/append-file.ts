import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
} from "node:fs";
import { join } from "node:path";
import { symlinkFault, syncDirectory } from "../../state/atomic-file.js";
import { readEnd, writeAll } from "../../state/audit/chain-file.js";
import { type ChainLink, unseal } from "../../state/audit/hash-chain.js";
import { errnoOf } from "../../state/disk-fault.js";
import { current, oldFiles, oldName } from "./files.js";
import { seqOf } from "./log-reader.js";

/** Lines are appended synchronously: that takes microseconds, and keeps their order. */
export interface AppendFile {
  fd: number;
  ino: number;
  dev: number;
  size: number;
  /** The seq of its first line, if it has one. */
  first: number | undefined;
  last: ChainLink | undefined;
  /** Bytes of an unfinished line that were cut from its end. */
  torn: number;
  /** Where refused lines begin that could not be removed again. */
  refusedFrom?: number;
}

/** Opens or creates the file, and cuts an unfinished line that a killed writer left. */
export function openAppendFile(dir: string, before?: AppendFile): AppendFile {
  const path = join(dir, current);
  const fd = openPlain(path);
  try {
    const { ino, dev } = fstatSync(fd);
    fchmodSync(fd, 0o600);
    if (before?.refusedFrom !== undefined && before.ino === ino && before.dev === dev) {
      ftruncateSync(fd, before.refusedFrom);
    }
    const { end, last, torn } = readEnd(fd);
    if (torn > 0) ftruncateSync(fd, end);
    const beginning = Buffer.alloc(32);
    readSync(fd, beginning, 0, beginning.length, 0);
    return { fd, ino, dev, size: end, first: seqOf(beginning), last: last ?? lastWhole(path), torn };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openPlain(path: string): number {
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const fd = openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch (error) {
    throw errnoOf(error) === "ELOOP" ? symlinkFault(path) : error;
  }
  throw new Error(`${path} is not a plain file`);
}

// The end of the file is not a line of the log: it stays as evidence, and no seq is used twice because of it.
function lastWhole(path: string): ChainLink | undefined {
  for (const line of readFileSync(path, "utf8").split("\n").reverse()) {
    const link = unseal(line)?.link;
    if (link) return link;
  }
  return undefined;
}

export function lastOf(dir: string, name: string): ChainLink | undefined {
  const path = join(dir, name);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return readEnd(fd).last ?? lastWhole(path);
  } finally {
    closeSync(fd);
  }
}

/** Throws when the path leads to another file than the one that is written: its lines would be lost. */
export function mustBeThere(dir: string, { ino, dev }: AppendFile): { size: number } {
  const seen = lstatSync(join(dir, current));
  if (seen.ino !== ino || seen.dev !== dev)
    throw new Error(`${join(dir, current)} is another file than the one that is written`);
  return seen;
}

/** Appends all lines or none. */
export function append(dir: string, file: AppendFile, bytes: Buffer): void {
  const { size } = mustBeThere(dir, file);
  try {
    writeAll(file.fd, bytes, size);
    file.size = size + bytes.length;
  } catch (error) {
    takeBack(file, size);
    throw error;
  }
}

/** Tries to append a few kilobytes, and removes them. Killed in between, they are an unfinished line like any other. */
export function tryToGrow(file: AppendFile): void {
  try {
    writeAll(file.fd, Buffer.alloc(4096, " "), file.size);
  } finally {
    takeBack(file, file.size);
  }
  if (file.refusedFrom !== undefined) throw new Error("it cannot be cut");
}

function takeBack(file: AppendFile, size: number): void {
  try {
    ftruncateSync(file.fd, size);
  } catch {
    file.refusedFrom = size;
  }
}

/** False when the name is taken. Synced before the next file begins, so that a power cut leaves no gap between them. */
export function putAway(dir: string, file: AppendFile, first: number): boolean {
  const name = oldName(first);
  if (oldFiles(dir).some((old) => old.name === name)) return false;
  fsyncSync(file.fd);
  renameSync(join(dir, current), join(dir, name));
  syncDirectory(dir);
  return true;
}
