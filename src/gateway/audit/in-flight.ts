import { closeSync, constants, ftruncateSync, openSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readStateFile } from "../../state/state-file.js";
import { objectFrom } from "../../text/json-object.js";
import type { GatewayCall, Tokens } from "../gateway-call.js";

/**
 * Requests that are sent on and have no line yet. They are on file, so that one whose gateway was killed has its line at the next
 * start, and what it is taken to have cost is counted.
 */
export interface InFlightCalls {
  /** Before it is sent on. Throws when it cannot be written down. */
  begin(sent: InFlightCall): void;
  /** Written down with the next one that begins, or by `flush`. */
  end(id: string): void;
  /** It began, and has not ended. */
  has(id: string): boolean;
  flush(): void;
  /** The file, or the folder it is in, may be gone: makes it anew. */
  recreate(): void;
  close(): void;
}

/** What is known of a request when it is sent on. */
export interface InFlightCall {
  call: GatewayCall;
  /** What it is taken to come to. */
  tokens: Tokens;
  usd?: number;
}

interface Entry extends InFlightCall {
  /** The last line of the log at that time: its own comes later. */
  after: number;
}

// Behind a newline: the text before may be cut short.
const asLine = (value: object): string => `\n${JSON.stringify(value)}`;

function mustTakeAll({ length }: Buffer, written: number): void {
  if (written < length) throw new Error("no space left for all of it");
}

// Always at its end: after it was emptied, a write at the former place would leave a hole of that size.
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;

const pathIn = (dir: string): string => join(dir, "under-way.jsonl");

// Bytes: from here on what has ended is left out.
const most = 8 * 1024 * 1024;

export function openInFlightCalls(dir: string, last: () => number): InFlightCalls {
  const entries = new Map<string, string>();
  let ended = "";
  let fd = -1;
  let size = 0;

  function write(text: string): void {
    const bytes = Buffer.from(text);
    const written = writeSync(fd, bytes);
    size += written;
    mustTakeAll(bytes, written);
  }

  function empty(): void {
    ftruncateSync(fd, 0);
    size = 0;
  }

  /** Always another file: a gateway that lost its place to this one may still write to the one before. */
  function renew(): void {
    const beside = `${pathIn(dir)}.new`;
    const next = openSync(beside, flags, 0o600);
    try {
      const left = Buffer.from([...entries.values()].join(""));
      mustTakeAll(left, left.length === 0 ? 0 : writeSync(next, left));
      size = left.length;
      renameSync(beside, pathIn(dir));
    } catch (error) {
      closeSync(next);
      throw error;
    }
    if (fd >= 0) closeSync(fd);
    fd = next;
  }
  renew();

  return {
    begin({ call, tokens, usd }) {
      const { key, ...rest } = call;
      // A key as a line of the log has it: nothing of its hash.
      const who = key && { id: key.id, name: key.name };
      const about = { call: { ...rest, ...(who && { key: who }) }, tokens, ...(usd !== undefined && { usd }) };
      const text = asLine({ after: last(), ...about });
      write(ended + text);
      ended = "";
      entries.set(call.id, text);
    },
    has: (id) => entries.has(id),
    end(id) {
      if (entries.delete(id)) ended += asLine({ ended: id });
    },
    flush() {
      if (ended === "") return;
      try {
        if (entries.size === 0) empty();
        else if (size > most) renew();
        else write(ended);
        ended = "";
      } catch {
        // Their lines tell that they ended; whoever begins next finds out whether the file can be written.
      }
    },
    recreate: renew,
    close() {
      if (fd >= 0) closeSync(fd);
      fd = -1;
    },
  };
}

/** What a gateway that was killed left, but for those that `lines` tells of: their line was written, and nothing else. */
export async function callsLeftInFlight(
  dir: string,
  lines: (from: number) => AsyncIterable<{ id: string }>,
): Promise<InFlightCall[]> {
  const left = new Map<string, Entry>();
  for (const text of (readStateFile(pathIn(dir), false)?.text ?? "").split("\n")) {
    // The last one may be cut short; its request was not sent.
    const said = objectFrom<FileEntry>(text);
    if (typeof said?.ended === "string") left.delete(said.ended);
    else if (isEntry(said)) left.set(said.call.id, said);
  }
  if (left.size === 0) return [];
  const from = Math.min(...[...left.values()].map(({ after }) => after)) + 1;
  for await (const { id } of lines(from)) left.delete(id);
  return [...left.values()];
}

type FileEntry = Partial<Record<"after" | "call" | "tokens" | "ended", unknown>>;

function isEntry(said: FileEntry | undefined): said is FileEntry & Entry {
  if (!said || !Number.isInteger(said.after)) return false;
  const { id, at, method, path, from } = (said.call ?? {}) as Partial<Record<keyof GatewayCall, unknown>>;
  const { input, output } = (said.tokens ?? {}) as Partial<Tokens>;
  return (
    [id, method, path, from].every((each) => typeof each === "string") && [at, input, output].every(Number.isFinite)
  );
}
