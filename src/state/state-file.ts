import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from "node:fs";
import { Fault } from "../errors.js";
import { quote } from "../quote.js";
import { symlinkFault } from "./atomic-file.js";
import { errnoOf } from "./disk-fault.js";

export interface StateFile {
  text: string;
  /** Changes when the file does. */
  identity: string;
}

/** Reads a state file; undefined when there is none. A secret file must be private. */
export function readStateFile(path: string, secret: boolean): StateFile | undefined {
  let fd: number;
  try {
    // Without O_NONBLOCK, opening a named pipe in the file's place would block forever.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw unreadable(path, error);
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile())
      throw new Fault("state-corrupt", `${path} is not a plain file`, { next: `ls -ld ${quote(path)}` });
    if (secret && stat.mode & 0o077) throw exposed(path, stat);
    return { text: readFileSync(fd, "utf8"), identity: identityOf(stat) };
  } finally {
    closeSync(fd);
  }
}

export const identityOf = (stat: Stats | undefined): string =>
  stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : "none";

/** Differs when the file was replaced, changed or made readable by others. */
export const stampOf = (paths: string[]): string =>
  paths
    .map((path) => lstatSync(path, { throwIfNoEntry: false }))
    .map((stat) => `${identityOf(stat)} ${stat?.mode}`)
    .join();

function exposed(path: string, stat: Stats): Fault {
  const mode = (stat.mode & 0o777).toString(8);
  return new Fault("state-exposed", `${path} contains secrets and is accessible to others`, {
    why: `its mode is ${mode}; only its owner may read or write it (600)`,
    next: `chmod 600 ${quote(path)}`,
    data: { path, mode },
  });
}

/** The error to throw when `path` could not be opened. */
export function unreadable(path: string, error: unknown): unknown {
  const code = errnoOf(error);
  if (!code) return error;
  if (code === "ELOOP") return symlinkFault(path);
  return new Fault("state-corrupt", `${path} cannot be read`, {
    why: code === "EACCES" ? "permission denied (EACCES)" : `the system says ${code}`,
    next: `ls -l ${quote(path)}`,
    data: { path, errno: code },
    cause: error,
  });
}
