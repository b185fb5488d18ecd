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
import { isAlive, thisProcess } from "./alive.js";
import { cannotWrite, errnoOf } from "./disk-fault.js";

export interface WriteOptions {
  mode?: number;
  /** Called when the new content is safe on disk beside the target; if it throws, the target stays as it was. */
  beforeRename?: () => void;
}

/**
 * Replaces a file so that whoever reads it, at any moment and after any crash, finds the old content or the new, whole.
 * It is never readable by others on the way, whatever the umask, and a symbolic link is refused, not followed.
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

/** Makes a file that must not exist yet, closed to others from its first moment, and syncs it to disk. */
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

/** Makes a rename or a new name in the directory survive a power cut. */
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

/** Some network file systems cannot sync a directory, and need not. */
export const needsNoSync = (error: unknown): boolean => ["EINVAL", "ENOTSUP", "EBADF"].includes(errnoOf(error) ?? "");

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or the next writer's sweep takes it.
  }
}

let made = 0;

/** A name beside `base` that no other process makes, and that tells who made it. */
export function tempName(base: string): string {
  const { pid, started, place } = thisProcess();
  return `.${base}~${pid}~${started}~${place}~${made++}`;
}

const anHour = 3_600_000;

/** Removes what killed writers of `base` left. Those of other machines are given an hour. */
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

/** A state file is a plain file of ours: what a link points to is in somebody else's hands. */
export function symlinkFault(path: string): Fault {
  return new Fault("state-corrupt", `${path} is a symbolic link`, {
    why: "clm keeps its state in plain files, so that a write cannot end up somewhere else",
    next: `cp ${quote(path)} ${quote(`${path}.new`)} && mv ${quote(`${path}.new`)} ${quote(path)}`,
    data: { path },
  });
}
