import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LockOwner } from "./lock-file.js";
import { isAlive } from "./process-id.js";

export interface AbandonedLock {
  name: string;
  owner: LockOwner;
}

/** Locks of killed processes. They need no repair: the next taker gets them. */
export function abandonedLocks(configDir: string): AbandonedLock[] {
  const root = join(configDir, "locks");
  return namesIn(root).flatMap((name): AbandonedLock[] => {
    const generation = Math.max(
      ...namesIn(join(root, name)).flatMap((each) => (/^\d{1,15}$/.test(each) ? Number(each) : [])),
    );
    const [state = "", owner = ""] = textOf(join(root, name, `${generation}`)).split("\n");
    if (!state.startsWith("held")) return [];
    try {
      const held = JSON.parse(owner) as LockOwner;
      return isAlive(held) === false ? [{ name, owner: held }] : [];
    } catch {
      return [];
    }
  });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
