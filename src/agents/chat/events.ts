import { ByteBuffer } from "../../text/byte-buffer.js";
import { objectFrom } from "../../text/json-object.js";

export interface ServerEvent {
  /** `message` when it has no name of its own. */
  name: string;
  data: string;
}

/** The bytes that replace an event: the same, others, or none. */
export type EventRewriter = (event: Buffer) => Buffer;

export interface SplitterOptions {
  /** `isComplete` is false for a last event that the stream did not finish. A comment line is an event without data. */
  onEvent(event: Buffer, isComplete: boolean): void;
  /** Bytes that belong to no event: empty lines, and everything after an event that was too long. */
  onOther?(bytes: Buffer): void;
  /** An event that does not end must not fill the memory. */
  maxBytes?: number;
}

const [newline, carriageReturn, colon] = [10, 13, 58];

/** Splits a stream into server-sent events, wherever it is cut into chunks. Its time depends on the stream's length alone. */
export class EventSplitter {
  readonly #options: Required<SplitterOptions>;
  readonly #buffer = new ByteBuffer();
  #first: number | undefined;
  #lineIsEmpty = true;
  #afterReturn = false;
  /** The event is whole but for a newline that may follow its last carriage return. */
  #closing = false;
  #gaveUp = false;

  constructor(options: SplitterOptions) {
    this.#options = { onOther() {}, maxBytes: 16 * 1024 * 1024, ...options };
  }

  /** Returns whether the stream is still split: not after an event that was too long. */
  push(chunk: Buffer): boolean {
    const { onOther, maxBytes } = this.#options;
    if (this.#gaveUp) {
      onOther(chunk);
      return false;
    }
    let from = 0;
    const close = (to: number) => {
      this.#buffer.push(chunk.subarray(from, to));
      from = to;
      this.#close(true);
    };
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.#closing) {
        close(byte === newline ? at + 1 : at);
        if (byte === newline) continue;
      }
      // There may be millions of empty lines between two events.
      if (at === from && this.#buffer.length === 0 && isLineEnd(byte)) {
        while (isLineEnd(chunk[at + 1])) at++;
        onOther(chunk.subarray(from, at + 1));
        from = at + 1;
        continue;
      }
      const isSecondHalf = byte === newline && this.#afterReturn;
      this.#afterReturn = byte === carriageReturn;
      if (isSecondHalf) continue;
      this.#first ??= byte;
      if (!isLineEnd(byte)) {
        this.#lineIsEmpty = false;
        at = lineEndAfter(chunk, at) - 1;
        continue;
      }
      // A comment keeps the connection alive, so it does not wait for the end of an event.
      if (this.#lineIsEmpty || this.#first === colon) {
        if (byte === newline) close(at + 1);
        else this.#closing = true;
      }
      this.#lineIsEmpty = true;
    }
    if (from < chunk.length) this.#buffer.push(chunk.subarray(from));
    if (this.#buffer.length <= maxBytes) return true;
    this.#gaveUp = true;
    onOther(this.#buffer.take());
    return false;
  }

  end(): void {
    if (this.#buffer.length > 0) this.#close(this.#closing);
  }

  #close(isComplete: boolean): void {
    this.#first = undefined;
    this.#lineIsEmpty = true;
    this.#afterReturn = false;
    this.#closing = false;
    this.#options.onEvent(this.#buffer.take(), isComplete);
  }
}

const isLineEnd = (byte: number | undefined): boolean => byte === newline || byte === carriageReturn;

function lineEndAfter(chunk: Buffer, at: number): number {
  const found = chunk.indexOf(newline, at);
  const end = found < 0 ? chunk.length : found;
  const before = chunk.subarray(at, end).indexOf(carriageReturn);
  return before < 0 ? end : at + before;
}

/** Undefined for an event without data, such as a comment. */
export function parseEvent(event: Buffer): ServerEvent | undefined {
  if (event[0] === colon) return undefined;
  let name = "";
  let data: string | undefined;
  for (const line of linesOf(event.toString())) {
    const value = fieldIn(line, "data");
    if (value !== undefined) data = data === undefined ? value : `${data}\n${value}`;
    else name = fieldIn(line, "event") ?? name;
  }
  return data === undefined ? undefined : { name: name || "message", data };
}

export const objectIn = <T extends object>(event: Buffer): T | undefined =>
  objectFrom<T>(parseEvent(event)?.data ?? "");

/** The same event with another object as its data, on one line. */
export function withObject(event: Buffer, value: object): Buffer {
  const text = event.toString();
  const lines = linesOf(text);
  const isData = (line: string) => fieldIn(line, "data") !== undefined;
  const at = lines.findIndex(isData);
  const data = `data: ${JSON.stringify(value)}`;
  const kept = lines.flatMap((line, index) => (index === at ? data : isData(line) ? [] : line));
  return Buffer.from(kept.join(lineEnd.exec(text)?.[0]));
}

const lineEnd = /\r\n|\n|\r/;
const linesOf = (text: string): string[] => text.split(text.includes("\r") ? lineEnd : "\n");

function fieldIn(line: string, name: string): string | undefined {
  if (!line.startsWith(name)) return undefined;
  if (line.length === name.length) return "";
  if (line.charCodeAt(name.length) !== colon) return undefined;
  return line.slice(line[name.length + 1] === " " ? name.length + 2 : name.length + 1);
}
