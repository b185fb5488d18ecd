import { createHash } from "node:crypto";
import { historyKinds, type SessionIds } from "../session-ids.js";
import { readHistoriesFile, writeHistoriesFile } from "./histories-file.js";

/** Whose ids they are: the same id of two keys, or at two agents, is not one session. */
export interface Owner {
  key: string;
  target: string;
}

/** How many tokens the sessions, responses and conversations hold that agents store, as far as the gateway knows. */
export interface Histories {
  /** What an agent loads for a request with these ids: 0 without any, nothing when one of them is not known. */
  of(owner: Owner, ids: SessionIds): number | undefined;
  /** A call with these ids came to so many tokens: the next one loads as much. */
  learn(owner: Owner, ids: SessionIds, tokens: number): void;
  close(): Promise<void>;
}

export interface HistoriesOptions {
  /** Where they are kept; nowhere without it. */
  dir?: string;
  /** How many are known at once; the one that was not used for the longest time is forgotten first. */
  most?: number;
  /** Milliseconds between two savings. */
  pause?: number;
}

/**
 * A killed gateway loses what it learned in its last seconds. That is safe: a call to a session that is not known reserves for the
 * model's whole window.
 */
export function openHistories({ dir, most = 20_000, pause = 5000 }: HistoriesOptions = {}): Histories {
  // A Map is in the order of insertion: the first was not used for the longest time.
  const known = new Map(dir === undefined ? [] : readHistoriesFile(dir));
  let timer: NodeJS.Timeout | undefined;
  let saving: Promise<void> | undefined;
  let changed = false;
  let closed = false;

  async function save(): Promise<void> {
    if (dir === undefined || !changed) return;
    changed = false;
    // What cannot be saved is learned again, one call at a time.
    await writeHistoriesFile(dir, known).catch(() => {
      changed = true;
    });
  }

  function saveSoon(): void {
    if (dir === undefined || timer || saving || closed) return;
    timer = setTimeout(async () => {
      timer = undefined;
      saving = save();
      await saving;
      saving = undefined;
      if (changed) saveSoon();
    }, pause).unref();
  }

  return {
    of(owner, ids) {
      let sum = 0;
      for (const place of placesOf(owner, ids)) {
        const tokens = known.get(place);
        if (tokens === undefined) return undefined;
        known.delete(place);
        known.set(place, tokens);
        sum += tokens;
      }
      return sum;
    },
    learn(owner, ids, tokens) {
      for (const place of placesOf(owner, ids)) {
        known.delete(place);
        known.set(place, tokens);
        changed = true;
      }
      for (const oldest of known.keys()) {
        if (known.size <= most) break;
        known.delete(oldest);
      }
      if (changed) saveSoon();
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await saving;
      await save();
    },
  };
}

/** By a hash: an id may be long, and is the caller's own. */
function placesOf({ key, target }: Owner, ids: SessionIds): string[] {
  const paths: string[] = [];
  for (const kind of historyKinds) {
    const id = ids[kind];
    if (id === undefined) continue;
    const digest = createHash("sha256")
      .update(JSON.stringify([key, target, kind, id]))
      .digest("base64url");
    paths.push(digest.slice(0, 22));
  }
  return paths;
}
