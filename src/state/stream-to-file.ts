import { linkSync, lstatSync, renameSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault } from "../errors.js";
import { removeIfThere, sweepTemps, syncDirectory, tempName } from "./atomic-file.js";
import { cannotWrite, errnoOf } from "./disk-fault.js";

/** Streams texts to a private file, which appears only when it is complete. */
export async function intoFile(
  { path, force }: { path: string; force: boolean },
  work: (write: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (!force && lstatSync(path, { throwIfNoEntry: false })) throw taken(path);
  const directory = dirname(path);
  const temp = join(directory, tempName(basename(path)));
  let file: FileHandle | undefined;
  try {
    sweepTemps(directory, basename(path));
    file = await open(temp, "wx", 0o600);
    const to = file;
    await work(async (text) => void (await to.writeFile(text)));
    await file.sync();
    await file.close();
    file = undefined;
    if (force) renameSync(temp, path);
    else {
      // A rename would replace a file created meanwhile.
      linkSync(temp, path);
      removeIfThere(temp);
    }
    syncDirectory(directory);
  } catch (error) {
    await file?.close().catch(() => {});
    removeIfThere(temp);
    throw errnoOf(error) === "EEXIST" ? taken(path) : cannotWrite(path, directory, error);
  }
}

const taken = (path: string): Fault =>
  new Fault("already-exists", `${path} exists already`, { why: "--force overwrites it" });
