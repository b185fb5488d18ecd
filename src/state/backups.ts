import { chmodSync, constants, copyFileSync, linkSync } from "node:fs";
import { join } from "node:path";
import { removeIfThere, syncDirectory } from "./atomic-file.js";
import { namesIn } from "./config-dir.js";
import { errnoOf } from "./disk-fault.js";

const kept = 5;

/** Keeps the file about to be replaced as the newest backup. A hard link is enough: it is never written to again. */
export function keepBackup(path: string, directory: string, file: string): void {
  const older = backups(directory, file);
  const number = Number(older[0]?.slice(file.length + 1) ?? 0) + 1;
  keepAs(path, join(directory, `${file}.${number}`));
  for (const name of older.slice(kept - 1)) removeIfThere(join(directory, name));
}

/** Keeps the last file of an old version indefinitely, so that a migration can be reverted. */
export function keepOldVersion(path: string, directory: string, file: string, version: number): void {
  const target = join(directory, `${file}.v${version}`);
  removeIfThere(target);
  keepAs(path, target);
  syncDirectory(directory);
}

/** Deletes every backup, so that removed secrets do not survive in them. */
export function dropBackups(directory: string, file: string): void {
  for (const name of namesIn(directory)) {
    if (name.startsWith(`${file}.`)) removeIfThere(join(directory, name));
  }
}

/** Makes the current file the first backup again, if there is room for it. */
export function copyAsBackup(path: string, directory: string, file: string): void {
  const target = join(directory, `${file}.1`);
  try {
    copyFileSync(path, target, constants.COPYFILE_EXCL);
  } catch {
    removeIfThere(target);
  }
}

/** The backups of a file, newest first. */
export function backups(directory: string, file: string): string[] {
  return namesIn(directory)
    .filter((name) => name.startsWith(`${file}.`) && /^\d{1,15}$/.test(name.slice(file.length + 1)))
    .sort((a, b) => Number(b.slice(file.length + 1)) - Number(a.slice(file.length + 1)));
}

export function newestGoodBackup(
  directory: string,
  file: string,
  isGood: (path: string) => boolean,
): string | undefined {
  return backups(directory, file)
    .map((name) => join(directory, name))
    .find(isGood);
}

function keepAs(path: string, target: string): void {
  try {
    linkSync(path, target);
  } catch (error) {
    // File systems without hard links, and files with too many.
    if (!["EPERM", "ENOTSUP", "ENOSYS", "EMLINK", "EXDEV"].includes(errnoOf(error) ?? "")) throw error;
    copyFileSync(path, target, constants.COPYFILE_EXCL);
  }
  chmodSync(target, 0o600);
}
