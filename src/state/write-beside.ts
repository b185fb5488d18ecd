import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { needsNoSync, tempName } from "./atomic-file.js";

/**
 * Replaces a file as `writeAtomic` does, for a process that others wait for: a disk may take as long for it as a hundred requests,
 * which are not held up meanwhile. What killed writers leave is swept by who opens the folder.
 */
export async function writeBeside(path: string, content: string): Promise<void> {
  const directory = dirname(path);
  const temp = join(directory, tempName(basename(path)));
  try {
    const file = await open(temp, "wx", 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
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
