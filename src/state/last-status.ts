import { join } from "node:path";
import { isFault } from "../errors.js";
import { writeAtomic } from "./atomic-file.js";
import { openConfigDir } from "./config-dir.js";
import { object, optional, record, type TypeOf, text, whole } from "./shape.js";
import { readStateFile } from "./state-file.js";

const lastStatus = object({ at: text, state: text, reason: optional(text), version: optional(text) });
const file = object({ version: whole(1, 1), agents: record(lastStatus) });

/** An agent's status when its host last answered. Contains no secret. */
export type LastStatus = TypeOf<typeof lastStatus>;

/** By `host:type:agent`. */
export type LastStatuses = Record<string, LastStatus>;

const pathIn = (dir: string): string => join(dir, "sightings.json");

/** Only shown to people, so an unreadable or invalid file counts as missing: the next probe writes a new one. */
export function readLastStatuses(dir: string): LastStatuses {
  try {
    const found = readStateFile(pathIn(dir), false);
    const content: unknown = found && JSON.parse(found.text);
    return file.objection(content) ? {} : (content as TypeOf<typeof file>).agents;
  } catch {
    return {};
  }
}

/**
 * Adds statuses, and drops agents that `exists` does not know. Takes no lock: of two at once the later wins, and the next
 * probe restores the rest. Returns false when it could not be written.
 */
export function saveLastStatuses(dir: string, statuses: LastStatuses, exists: (key: string) => boolean): boolean {
  const all = Object.entries({ ...readLastStatuses(dir), ...statuses });
  const agents = Object.fromEntries(all.filter(([key]) => exists(key)));
  try {
    writeAtomic(pathIn(openConfigDir(dir)), `${JSON.stringify({ version: 1, agents }, null, 2)}\n`);
    return true;
  } catch (error) {
    if (isFault(error, "state-readonly", "state-corrupt")) return false;
    throw error;
  }
}
