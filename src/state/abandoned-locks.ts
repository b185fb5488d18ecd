import { join } from "node:path";
import { namesIn } from "./config-dir.js";
import { type LockOwner, lockState } from "./lock-file.js";
import { isAlive } from "./process-id.js";

/** Locks of killed processes. They need no repair: the next taker gets them. */
export function abandonedLocks(configDir: string): { name: string; owner: LockOwner }[] {
  const root = join(configDir, "locks");
  return namesIn(root).flatMap((name) => {
    const owner = deadOwner(join(root, name));
    return owner ? [{ name, owner }] : [];
  });
}

function deadOwner(directory: string): LockOwner | undefined {
  try {
    const state = lockState(directory);
    return state?.owner && !state.free && isAlive(state.owner) === false ? state.owner : undefined;
  } catch {
    // Not a lock, or not readable: whoever wants to take it is told so.
    return undefined;
  }
}
