import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { Fault } from "../errors.js";
import { quote } from "../quote.js";
import { cannotWrite, errnoOf } from "./disk-fault.js";
import { isAlive, thisProcess } from "./process-id.js";

export interface WriteOptions {
  mode?: number;
  /** Called once the new content is synced to a temporary file; if it throws, the target is unchanged. */
  beforeRename?: () => void;
}

/**
 * Replaces a file atomically: a reader, even after a crash, finds the complete old or the complete new content.
 * The file is never readable by others, whatever the umask, and a symbolic link is refused.
 */
export function writeAtomic(path: string, content: string | Uint8Array, options: WriteOptions = {}): void {
  const directory = dirname(path);
  const temp = join(directory, tempName(basename(path)));
  try {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw symlinkFault(path);
    sweepTemps(directory, basename(path));
    writeNew(temp, content, options.mode ?? 0o600);
    options.beforeRename?.();
    renameSync(temp, path);
    syncDirectory(directory);
  } catch (error) {
    removeIfThere(temp);
    throw cannotWrite(path, directory, error);
  }
}

/** Creates a file that must not exist yet, private from the start, and syncs it to disk. */
export function writeNew(path: string, content: string | Uint8Array, mode = 0o600): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    writeFileSync(fd, content);
    fchmodSync(fd, mode);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes a rename or a new file in the directory survive a power cut. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } catch (error) {
    if (!needsNoSync(error)) throw error;
  } finally {
    closeSync(fd);
  }
}

/** Some network file systems cannot sync a directory and do not need to. */
export const needsNoSync = (error: unknown): boolean => ["EINVAL", "ENOTSUP", "EBADF"].includes(errnoOf(error) ?? "");

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Already gone, or the next writer's sweep removes it.
  }
}

let made = 0;

/** A temporary name beside `base` that is unique to this process and identifies it. */
export function tempName(base: string): string {
  const { pid, started, place } = thisProcess();
  return `.${base}~${pid}~${started}~${place}~${made++}`;
}

const anHour = 3_600_000;

/** Removes temporary files that killed writers of `base` left; those of other machines after an hour. */
export function sweepTemps(directory: string, base: string): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(`.${base}~`)) continue;
    const [pid = "", started = "", place = ""] = name.slice(base.length + 2).split("~");
    const alive = isAlive({ pid: Number(pid), started, place });
    const path = join(directory, name);
    const age = () => Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (alive === false || (alive === undefined && age() > anHour)) rmSync(path, { recursive: true, force: true });
  }
}

export function symlinkFault(path: string): Fault {
  return new Fault("state-corrupt", `${path} is a symbolic link`, {
    why: "clm keeps its state in regular files, so that a write cannot end up somewhere else",
    next: `cp ${quote(path)} ${quote(`${path}.new`)} && mv ${quote(`${path}.new`)} ${quote(path)}`,
    data: { path },
  });
}
