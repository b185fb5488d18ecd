import { join } from "node:path";
import { isFault } from "../errors.js";
import { writeAtomic } from "./atomic-file.js";
import { openConfigDir } from "./config-dir.js";
import { object, optional, record, type TypeOf, text, whole } from "./shape.js";
import { readStateFile } from "./state-file.js";

const sighting = object({ at: text, state: text, reason: optional(text), version: optional(text) });
const file = object({ version: whole(1, 1), agents: record(sighting) });

/** How an agent was when its host last told: nothing of it is secret. */
export type LastStatus = TypeOf<typeof sighting>;

/** By `host:type:agent`. */
export type LastStatuses = Record<string, LastStatus>;

const pathIn = (dir: string): string => join(dir, "sightings.json");

/**
 * What was last seen of each agent. It is worth nothing but a line for a person, so a file that cannot be read or is not
 * what it should be is no file: the next look writes it anew.
 */
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
 * Adds what was seen now, and forgets agents that `isThere` does not know. Without a lock: of two looks at once the later
 * may win, and what it lost is seen again by the next. Says whether it could be written.
 */
export function saveLastStatuses(dir: string, seen: LastStatuses, isThere: (key: string) => boolean): boolean {
  const all = Object.entries({ ...readLastStatuses(dir), ...seen });
  const agents = Object.fromEntries(all.filter(([key]) => isThere(key)));
  try {
    writeAtomic(pathIn(openConfigDir(dir)), `${JSON.stringify({ version: 1, agents }, null, 2)}\n`);
    return true;
  } catch (error) {
    if (isFault(error, "state-readonly", "state-corrupt")) return false;
    throw error;
  }
}
