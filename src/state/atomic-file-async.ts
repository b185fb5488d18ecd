import { open, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { needsNoSync, tempName } from "./atomic-file.js";

/**
 * `writeAtomic` without blocking the event loop: a sync can take as long as the gateway needs for a hundred requests.
 * Does not sweep temporary files of killed writers; the code that opens the directory does.
 */
export async function writeAtomicAsync(path: string, content: string): Promise<void> {
  const directory = dirname(path);
  const temp = join(directory, tempName(basename(path)));
  try {
    await writeFile(temp, content, { flag: "wx", mode: 0o600, flush: true });
    await rename(temp, path);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  await syncDirectory(directory);
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } catch (error) {
    if (!needsNoSync(error)) throw error;
  } finally {
    await handle.close();
  }
}
