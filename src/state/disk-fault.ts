import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../errors.js";
import { quote } from "../quote.js";

const reasons: Record<string, { why: string; next: (path: string) => string }> = {
  ENOSPC: { why: "the disk is full", next: (path) => `df -h ${quote(path)}` },
  EDQUOT: { why: "your disk quota is used up", next: () => "quota -s" },
  EROFS: { why: "the file system is mounted read-only", next: (path) => `findmnt -T ${quote(path)}` },
  EACCES: { why: "you may not write there", next: (path) => `ls -ld ${quote(path)}` },
  EPERM: { why: "the system does not permit it", next: (path) => `lsattr -d ${quote(path)}` },
  EEXIST: { why: "a file stands where a directory should be", next: (path) => `ls -ld ${quote(path)}` },
  ENOTDIR: { why: "a file stands where a directory should be", next: (path) => `ls -ld ${quote(path)}` },
};

/** What to throw when writing `path` failed: a fault for whatever the system refused, anything else as it is. */
export function cannotWrite(path: string, directory: string, error: unknown): unknown {
  const code = errnoOf(error);
  if (!code || error instanceof Fault) return error;
  const reason = reasons[code];
  const place = nearestThere(directory);
  return new Fault("state-readonly", `${path} cannot be written`, {
    why: reason ? `${reason.why} (${code})` : `the system says ${code}`,
    next: reason?.next(place) ?? `ls -ld ${quote(place)}`,
    data: { path, errno: code },
    cause: error,
  });
}

/** `ENOENT` and the like; undefined for an error that is not the system's. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code && (error as NodeJS.ErrnoException).errno !== undefined ? code : undefined;
}

const nearestThere = (path: string): string => (existsSync(path) ? path : nearestThere(dirname(path)));
