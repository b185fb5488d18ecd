import { closeSync, constants, ftruncateSync, openSync, renameSync } from "node:fs";
import { join } from "node:path";
import { writeAll } from "../../state/audit/chain-file.js";
import { readStateFile } from "../../state/state-file.js";
import { objectFrom } from "../../text/json-object.js";
import type { GatewayCall, Tokens } from "../request/gateway-call.js";

export interface InFlightCall {
  call: GatewayCall;
  /** Estimated. */
  tokens: Tokens;
  usd?: number;
}

interface FileEntry extends InFlightCall {
  /** The last line of the log at that time: the request's own line comes later. */
  after: number;
}

// The newline comes first: the text before may be cut short.
const asLine = (value: object): string => `\n${JSON.stringify(value)}`;

// O_APPEND: after the file was emptied, a write at the former position would leave a hole of that size.
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND;
const pathIn = (dir: string): string => join(dir, "under-way.jsonl");
// From this size on the file is rewritten without the calls that have ended.
const maxBytes = 8 * 1024 * 1024;

/** Requests sent on that have no line yet. On file, so that after a kill they get a line with their estimated cost. */
export class InFlightCalls {
  readonly #entries = new Map<string, string>();
  #ended = "";
  #fd = -1;
  #size = 0;

  constructor(
    private readonly dir: string,
    /** The number of the log's last line. */
    private readonly last: () => number,
  ) {
    this.recreate();
  }

  begin({ call, tokens, usd }: InFlightCall): void {
    const { key, ...rest } = call;
    // The key as in a line of the log, without its hash.
    const who = key && { key: { id: key.id, name: key.name } };
    const text = asLine({ after: this.last(), call: { ...rest, ...who }, tokens, usd });
    this.#write(this.#ended + text);
    this.#ended = "";
    this.#entries.set(call.id, text);
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** Written with the next call that begins, or by `flush`. */
  end(id: string): void {
    if (this.#entries.delete(id)) this.#ended += asLine({ ended: id });
  }

  flush(): void {
    if (this.#ended === "") return;
    try {
      if (this.#entries.size === 0) {
        ftruncateSync(this.#fd, 0);
        this.#size = 0;
      } else if (this.#size > maxBytes) this.recreate();
      else this.#write(this.#ended);
      this.#ended = "";
    } catch {
      // The log's lines show that they ended; the next `begin` finds out whether the file can be written.
    }
  }

  /** Always makes a new file: a gateway that lost its lock may still write to the old one, and that may be gone. */
  recreate(): void {
    const beside = `${pathIn(this.dir)}.new`;
    const next = openSync(beside, flags, 0o600);
    try {
      const left = Buffer.from([...this.#entries.values()].join(""));
      writeAll(next, left, 0);
      this.#size = left.length;
      renameSync(beside, pathIn(this.dir));
    } catch (error) {
      closeSync(next);
      throw error;
    }
    this.close();
    this.#fd = next;
  }

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    writeAll(this.#fd, bytes, this.#size);
    this.#size += bytes.length;
  }
}

/** The calls that a killed gateway left, without those whose line was written before it was killed. */
export async function callsLeftInFlight(
  dir: string,
  lines: (from: number) => AsyncIterable<{ id: string }>,
): Promise<InFlightCall[]> {
  const left = new Map<string, FileEntry>();
  for (const text of (readStateFile(pathIn(dir), false)?.text ?? "").split("\n")) {
    // The last one may be cut short; its request was not sent.
    const entry = objectFrom<Record<string, unknown>>(text);
    if (typeof entry?.ended === "string") left.delete(entry.ended);
    else if (isFileEntry(entry)) left.set(entry.call.id, entry);
  }
  if (left.size === 0) return [];
  for await (const { id } of lines(Math.min(...[...left.values()].map(({ after }) => after)) + 1)) left.delete(id);
  return [...left.values()];
}

function isFileEntry(entry: object | undefined): entry is FileEntry {
  const { after, call, tokens } = (entry ?? {}) as Record<keyof FileEntry, unknown>;
  if (!Number.isInteger(after)) return false;
  const { id, at, method, path, from } = (call ?? {}) as Partial<Record<keyof GatewayCall, unknown>>;
  const { input, output } = (tokens ?? {}) as Partial<Tokens>;
  return (
    [id, method, path, from].every((each) => typeof each === "string") && [at, input, output].every(Number.isFinite)
  );
}
