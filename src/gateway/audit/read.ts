import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { current } from "./files.js";
import { type LogReader, requestIn, seqOf } from "./log-reader.js";
import { inodeOf, type LogFile, openFiles } from "./open-files.js";
import type { RequestLine } from "./request-line.js";

/** Oldest first. Skips damaged lines (`verifyRequestLog` reports them) and a line that is still being written. */
export async function* readRequestLines(
  dir: string,
  { from = 1 }: { from?: number } = {},
): AsyncGenerator<RequestLine> {
  for await (const { reader } of openFiles(dir, (files) => since(files, from))) yield* linesFrom(reader, from);
}

/** The files that may have the seq or a later one: an old file ends where the next begins. */
function since(files: readonly LogFile[], from: number): LogFile[] {
  return files.filter((_, index) => (files[index + 1]?.first ?? Number.POSITIVE_INFINITY) > from);
}

async function* linesFrom(reader: LogReader, from: number): AsyncGenerator<RequestLine> {
  for (let lines = await reader.more(); lines; lines = await reader.more()) {
    for (const line of lines) {
      if ((seqOf(line) ?? from) < from) continue;
      const request = requestIn(line);
      if (request) yield request;
    }
  }
}

export interface LineQuery {
  /** The last so many; all by default. */
  limit?: number | undefined;
  /** Requests that began at this time (milliseconds since 1970) or later. */
  since?: number | undefined;
  matches?: ((line: RequestLine) => boolean) | undefined;
}

/** The newest matching lines, oldest first. Reads the files from the newest, and no more of them than needed. */
export async function lastRequestLines(
  dir: string,
  { limit = Number.POSITIVE_INFINITY, since: asked, matches = () => true }: LineQuery,
): Promise<RequestLine[]> {
  if (limit === 0) return [];
  let found: RequestLine[] = [];
  for await (const { reader } of openFiles(dir, (files) => files.toReversed())) {
    const here: RequestLine[] = [];
    let first: RequestLine | undefined;
    for await (const line of linesFrom(reader, 1)) {
      first ??= line;
      if ((asked !== undefined && Date.parse(line.at) < asked) || !matches(line)) continue;
      here.push(line);
      if (here.length >= 2 * limit) here.splice(0, here.length - limit);
    }
    found = [...here, ...found];
    // Requests in older files had ended when this file began.
    const over = first && asked !== undefined && Date.parse(first.at) + first.ms < asked;
    if (found.length >= limit || over) break;
  }
  return found.slice(-limit);
}

// Milliseconds between two checks for new lines.
const interval = 200;

/** The lines from a seq on, and new ones as they are written, across files that are put away. */
export async function* followRequestLines(
  dir: string,
  { from, signal }: { from: number; signal: AbortSignal },
): AsyncGenerator<RequestLine> {
  let next = from;
  while (!signal.aborted) {
    let hasCurrent = false;
    const select = (files: readonly LogFile[]) => {
      hasCurrent = files.at(-1)?.name === current;
      return since(files, next);
    };
    for await (const { file, handle, reader } of openFiles(dir, select)) {
      const { ino } = await handle.stat();
      // Checked before reading, so that lines written until the file was put away are read once more.
      for (let isCurrent = true; isCurrent && !signal.aborted; ) {
        isCurrent = file.name === current && inodeOf(join(dir, current)) === ino;
        for await (const line of linesFrom(reader, next)) {
          next = line.seq + 1;
          yield line;
        }
        if (isCurrent) await paused(signal);
      }
    }
    // Between putting a file away and starting the next there is none.
    if (!hasCurrent) await paused(signal);
  }
}

const paused = (signal: AbortSignal): Promise<void> => sleep(interval, undefined, { signal }).catch(() => undefined);
