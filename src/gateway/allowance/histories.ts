import { createHash } from "node:crypto";
import { join } from "node:path";
import { DelayedSave } from "../../async/delayed-save.js";
import { sweepTemps } from "../../state/atomic-file.js";
import { writeAtomicAsync } from "../../state/atomic-file-async.js";
import { readStateFile } from "../../state/state-file.js";
import { historyKinds, type SessionIds } from "../request/session-ids.js";

/** Whose ids they are: the same id of two keys, or at two agents, is not one session. */
export interface Owner {
  key: string;
  target: string;
}

export interface HistoriesOptions {
  /** Where they are saved; in memory only without it. */
  dir?: string;
  /** How many are kept; the least recently used is forgotten first. */
  most?: number;
  /** Milliseconds between a change and its saving. */
  pause?: number;
}

/** Tokens in agents' stored sessions. A kill loses the last seconds; safe, as unknown ones reserve the whole window. */
export class Histories {
  // A Map is in the order of insertion: the first is the least recently used.
  readonly #known: Map<string, number>;
  readonly #most: number;
  readonly #save: DelayedSave | undefined;

  constructor({ dir, most = 20_000, pause = 5000 }: HistoriesOptions = {}) {
    this.#known = new Map(dir === undefined ? [] : entriesIn(dir));
    this.#most = most;
    if (dir === undefined) return;
    const content = () => `${JSON.stringify({ version: 1, sessions: [...this.#known] })}\n`;
    this.#save = new DelayedSave(() => writeAtomicAsync(join(dir, fileName), content()), pause);
  }

  /** Tokens that an agent loads for a request with these ids: 0 without any, undefined when one is unknown. */
  of(owner: Owner, ids: SessionIds): number | undefined {
    let sum = 0;
    for (const id of hashesOf(owner, ids)) {
      const tokens = this.#known.get(id);
      if (tokens === undefined) return undefined;
      this.#put(id, tokens);
      sum += tokens;
    }
    return sum;
  }

  /** A call with these ids used so many tokens: the next one loads as many. */
  learn(owner: Owner, ids: SessionIds, tokens: number): void {
    const hashes = hashesOf(owner, ids);
    for (const id of hashes) this.#put(id, tokens);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#most) break;
      this.#known.delete(oldest);
    }
    if (hashes.length > 0) this.#save?.changed();
  }

  async close(): Promise<void> {
    await this.#save?.close();
  }

  #put(id: string, tokens: number): void {
    this.#known.delete(id);
    this.#known.set(id, tokens);
  }
}

const fileName = "histories.json";
/** The most recently used is the last. */
type Entry = [hash: string, tokens: number];

/** A damaged file counts as none: its sessions are learned again. */
function entriesIn(dir: string): Entry[] {
  sweepTemps(dir, fileName);
  try {
    const { sessions } = JSON.parse(readStateFile(join(dir, fileName), false)?.text ?? "{}") as { sessions?: unknown };
    return Array.isArray(sessions) ? sessions.filter(isEntry) : [];
  } catch {
    return [];
  }
}

const isEntry = (entry: unknown): entry is Entry =>
  Array.isArray(entry) && typeof entry[0] === "string" && Number.isSafeInteger(entry[1]) && entry[1] >= 0;

/** Hashed, because an id may be long, and is the caller's own. */
function hashesOf({ key, target }: Owner, ids: SessionIds): string[] {
  return historyKinds.flatMap((kind) => {
    const id = ids[kind];
    if (id === undefined) return [];
    const hash = createHash("sha256").update(JSON.stringify([key, target, kind, id]));
    return hash.digest("base64url").slice(0, 22);
  });
}
