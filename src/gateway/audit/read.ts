import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { current } from "./files.js";
import { type LineReader, lineReader, requestIn, seqOf } from "./line-reader.js";
import type { RequestLine } from "./request-line.js";
import { inodeOf, type LogFile, snapshotOf } from "./snapshot.js";

/**
 * The lines from a seq on, oldest first, without holding more than a piece of a file. What is no line of the log is passed over
 * (`verifyRequestLog` names it), and so is an end that is being written.
 */
export async function* readRequestLines(
  dir: string,
  { from = 1 }: { from?: number } = {},
): AsyncGenerator<RequestLine> {
  const snapshot = await snapshotOf(dir);
  try {
    for (const file of since(snapshot.files, from)) {
      const handle = await snapshot.open(file);
      if (!handle) continue;
      try {
        yield* linesFrom(lineReader(handle), from);
      } finally {
        if (file.name !== current) await handle.close();
      }
    }
  } finally {
    await snapshot.close();
  }
}

/** Those that may hold the seq or a later one: an old file ends where the next begins. */
function since(files: LogFile[], from: number): LogFile[] {
  const next = (index: number) => files[index + 1]?.first ?? Number.POSITIVE_INFINITY;
  return files.filter((_, index) => next(index) > from);
}

async function* linesFrom(reader: LineReader, from: number): AsyncGenerator<RequestLine> {
  for (let lines = await reader.more(); lines; lines = await reader.more()) {
    for (const line of lines) {
      if (seqOf(line) < from) continue;
      const request = requestIn(line);
      if (request) yield request;
    }
  }
}

export interface LineQuery {
  /** The last so many; without it, all. */
  limit?: number | undefined;
  /** Those that were asked at this time (milliseconds since 1970) or later. */
  since?: number | undefined;
  matches?: ((line: RequestLine) => boolean) | undefined;
}

/** The newest lines that are wanted, oldest first. Goes through the files from the newest, and no further back than it must. */
export async function lastRequestLines(
  dir: string,
  { limit = Number.POSITIVE_INFINITY, since: asked, matches = () => true }: LineQuery,
): Promise<RequestLine[]> {
  if (limit === 0) return [];
  const snapshot = await snapshotOf(dir);
  try {
    let found: RequestLine[] = [];
    for (const file of snapshot.files.reverse()) {
      const handle = await snapshot.open(file);
      if (!handle) continue;
      try {
        const here: RequestLine[] = [];
        let first: RequestLine | undefined;
        for await (const line of linesFrom(lineReader(handle), 1)) {
          first ??= line;
          if ((asked !== undefined && Date.parse(line.at) < asked) || !matches(line)) continue;
          here.push(line);
          if (here.length >= 2 * limit) here.splice(0, here.length - limit);
        }
        found = [...here, ...found];
        // What stands in an older file had ended when this one began.
        const over = first && asked !== undefined && Date.parse(first.at) + first.ms < asked;
        if (found.length >= limit || over) break;
      } finally {
        if (file.name !== current) await handle.close();
      }
    }
    return found.slice(-limit);
  } finally {
    await snapshot.close();
  }
}

/** Milliseconds between two looks for new lines. */
const pace = 200;

/** The lines from a seq on and those that come, through files that are put away, until somebody says stop. */
export async function* followRequestLines(
  dir: string,
  { from, signal }: { from: number; signal: AbortSignal },
): AsyncGenerator<RequestLine> {
  let next = from;
  while (!signal.aborted) {
    const snapshot = await snapshotOf(dir);
    try {
      for (const file of since(snapshot.files, next)) {
        const handle = await snapshot.open(file);
        if (!handle) continue;
        try {
          const reader = lineReader(handle);
          const { ino } = await handle.stat();
          // Asked before reading: what was written until the file was put away is read once more after it.
          for (let goesOn = true; goesOn && !signal.aborted; ) {
            goesOn = file.name === current && (await inodeOf(join(dir, current))) === ino;
            for await (const line of linesFrom(reader, next)) {
              next = line.seq + 1;
              yield line;
            }
            if (goesOn) await paused(signal);
          }
        } finally {
          if (file.name !== current) await handle.close();
        }
      }
    } finally {
      await snapshot.close();
    }
    // Between putting a file away and beginning the next there is none.
    if (snapshot.files.at(-1)?.name !== current) await paused(signal);
  }
}

const paused = (signal: AbortSignal): Promise<void> => sleep(pace, undefined, { signal }).catch(() => undefined);
