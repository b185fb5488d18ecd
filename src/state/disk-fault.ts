import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../errors.js";
import { quote } from "../quote.js";

const reasons: Record<string, { why: string; next: (path: string) => string }> = {
  ENOSPC: { why: "the disk is full", next: (path) => `df -h ${quote(path)}` },
  EDQUOT: { why: "your disk quota is used up", next: () => "quota -s" },
  EROFS: { why: "the file system is mounted read-only", next: (path) => `findmnt -T ${quote(path)}` },
  EACCES: { why: "you have no write permission there", next: (path) => `ls -ld ${quote(path)}` },
  EPERM: { why: "the system does not permit it", next: (path) => `lsattr -d ${quote(path)}` },
  EEXIST: { why: "there is a file where a directory should be", next: (path) => `ls -ld ${quote(path)}` },
  ENOTDIR: { why: "there is a file where a directory should be", next: (path) => `ls -ld ${quote(path)}` },
};

/** The error to throw when writing `path` failed: a fault for a system error, any other error unchanged. */
export function cannotWrite(path: string, directory: string, error: unknown): unknown {
  const code = errnoOf(error);
  if (!code || error instanceof Fault) return error;
  const reason = reasons[code];
  const existing = nearestExisting(directory);
  return new Fault("state-readonly", `${path} cannot be written`, {
    why: reason ? `${reason.why} (${code})` : `the system reports ${code}`,
    next: reason?.next(existing) ?? `ls -ld ${quote(existing)}`,
    data: { path, errno: code },
    cause: error,
  });
}

/** `ENOENT` and the like; undefined when it is not a system error. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code && (error as NodeJS.ErrnoException).errno !== undefined ? code : undefined;
}

const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));
