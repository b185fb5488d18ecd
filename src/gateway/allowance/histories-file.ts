import { join } from "node:path";
import { sweepTemps } from "../../state/atomic-file.js";
import { writeAtomicAsync } from "../../state/atomic-file-async.js";
import { readStateFile } from "../../state/state-file.js";

/** `histories.json`: tokens by the hash of a session, the most recently used last. */
type Entry = [hash: string, tokens: number];
const fileName = "histories.json";

/** A damaged file counts as none: its sessions are learned again. */
export function readHistoriesFile(dir: string): Entry[] {
  sweepTemps(dir, fileName);
  try {
    const { sessions } = JSON.parse(readStateFile(join(dir, fileName), false)?.text ?? "{}") as { sessions?: unknown };
    return Array.isArray(sessions) ? sessions.filter(isEntry) : [];
  } catch {
    return [];
  }
}

export const writeHistoriesFile = (dir: string, known: ReadonlyMap<string, number>): Promise<void> =>
  writeAtomicAsync(join(dir, fileName), `${JSON.stringify({ version: 1, sessions: [...known] })}\n`);

const isEntry = (entry: unknown): entry is Entry =>
  Array.isArray(entry) && typeof entry[0] === "string" && Number.isSafeInteger(entry[1]) && entry[1] >= 0;
