import { closeSync, constants, ftruncateSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readStateFile } from "../../state/state-file.js";
import type { Call, Tokens } from "../call.js";

/**
 * Requests that are sent on and have no line yet. They are on file, so that one whose gateway was killed has its line at the next
 * start, and what it is taken to have cost is counted.
 */
export interface UnderWay {
  /** Before it is sent on. Throws when it cannot be written down. */
  begin(sent: Sent): void;
  end(id: string): void;
  close(): void;
}

/** What is known of a request when it is sent on. */
export interface Sent {
  call: Call;
  /** What it is taken to come to. */
  tokens: Tokens;
  usd?: number;
}

interface Entry extends Sent {
  /** The last line of the log at that time: its own comes later. */
  after: number;
}

const pathIn = (dir: string): string => join(dir, "under-way.jsonl");

// Bytes. What has ended is cleared away when nothing is under way; beyond the second all that has not is written anew.
const enough = 64 * 1024;
const most = 8 * 1024 * 1024;

export function openUnderWay(dir: string, last: () => number): UnderWay {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  const fd = openSync(pathIn(dir), flags, 0o600);
  const entries = new Map<string, string>();
  let size = 0;

  function clear(): void {
    ftruncateSync(fd, 0);
    size = 0;
    const left = [...entries.values()].join("");
    if (left !== "") size = writeSync(fd, left);
  }
  clear();

  return {
    begin({ call, tokens, usd }) {
      const { key, ...rest } = call;
      // A key as a line of the log has it: nothing of its hash.
      const who = key && { id: key.id, name: key.name };
      const entry = {
        after: last(),
        call: { ...rest, ...(who && { key: who }) },
        tokens,
        ...(usd !== undefined && { usd }),
      };
      // Behind a newline: the one before may be cut short.
      const text = `\n${JSON.stringify(entry)}`;
      const written = writeSync(fd, text);
      size += written;
      if (written < Buffer.byteLength(text)) throw new Error("no space left for all of it");
      entries.set(call.id, text);
    },
    end(id) {
      if (!entries.delete(id)) return;
      try {
        if (size > most || (size > enough && entries.size === 0)) clear();
      } catch {
        // It only grows; whoever begins next finds out whether it can be written.
      }
    },
    close: () => closeSync(fd),
  };
}

/** What a gateway that was killed left, but for those that `lines` tells of: their line was written, and nothing else. */
export async function leftUnderWay(
  dir: string,
  lines: (from: number) => AsyncIterable<{ id: string }>,
): Promise<Sent[]> {
  const found = readStateFile(pathIn(dir), false)?.text ?? "";
  const left = new Map(
    found
      .split("\n")
      .flatMap((text) => entryIn(text))
      .map((entry) => [entry.call.id, entry]),
  );
  if (left.size === 0) return [];
  const from = Math.min(...[...left.values()].map(({ after }) => after)) + 1;
  for await (const { id } of lines(from)) left.delete(id);
  return [...left.values()];
}

/** The last one may be cut short; its request was not sent. */
function entryIn(text: string): Entry[] {
  try {
    const entry = JSON.parse(text);
    return typeof entry?.call?.id === "string" && Number.isInteger(entry.after) ? [entry] : [];
  } catch {
    return [];
  }
}
