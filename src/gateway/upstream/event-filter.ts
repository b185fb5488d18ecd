import { ByteBuffer } from "../byte-buffer.js";

/** What of an event, which is given whole, goes on: all of it, another one, or nothing. */
export type EventRewriter = (event: Buffer) => Buffer;

export interface EventFilter {
  /** What of it may go on now: all but an event that has not come to its end. */
  push(chunk: Buffer): Buffer;
  /** What is left when nothing more comes. */
  end(): Buffer;
}

const [newline, carriageReturn, colon] = [10, 13, 58];
const nothing = Buffer.alloc(0);

// Bytes. One that does not end must not fill the memory: from there on everything passes as it is.
const longestEvent = 16 * 1024 * 1024;

/** For server-sent events, wherever they are cut into chunks. */
export function eventFilter(judged: EventRewriter): EventFilter {
  const held = new ByteBuffer();
  let first: number | undefined;
  let lineIsEmpty = true;
  let returned = false;
  /** The event is whole, but for the second half of its last line's end, which may come or not. */
  let closing = false;
  let givenUp = false;

  function taken(): Buffer {
    const event = held.take();
    first = undefined;
    lineIsEmpty = true;
    returned = false;
    closing = false;
    return event;
  }

  return {
    push(chunk) {
      if (givenUp) return chunk;
      const passed: Buffer[] = [];
      let from = 0;
      const close = (to: number) => {
        held.push(chunk.subarray(from, to));
        from = to;
        passed.push(judged(taken()));
      };
      for (let at = 0; at < chunk.length; at++) {
        const byte = chunk[at] as number;
        if (closing) {
          close(byte === newline ? at + 1 : at);
          if (byte === newline) continue;
        }
        // Empty lines between events are none, and pass as they are: there may be millions of them.
        if (at === from && held.length === 0 && isLineEnd(byte)) {
          while (isLineEnd(chunk[at + 1])) at++;
          passed.push(chunk.subarray(from, at + 1));
          from = at + 1;
          continue;
        }
        const secondHalf = byte === newline && returned;
        returned = byte === carriageReturn;
        if (secondHalf) continue;
        first ??= byte;
        if (byte !== newline && byte !== carriageReturn) {
          lineIsEmpty = false;
          at = lineEndAfter(chunk, at) - 1;
          continue;
        }
        // A comment, which keeps the line alive, waits for nothing.
        if (lineIsEmpty || first === colon) {
          if (byte === newline) close(at + 1);
          else closing = true;
        }
        lineIsEmpty = true;
      }
      if (from < chunk.length) held.push(chunk.subarray(from));
      if (held.length > longestEvent) {
        givenUp = true;
        passed.push(taken());
      }
      return passed.length === 1 ? (passed[0] as Buffer) : Buffer.concat(passed);
    },
    end: () => (held.length === 0 ? nothing : judged(taken())),
  };
}

const isLineEnd = (byte: number | undefined): boolean => byte === newline || byte === carriageReturn;

/** Where the line ends, or the chunk. */
function lineEndAfter(chunk: Buffer, at: number): number {
  const found = chunk.indexOf(newline, at);
  const end = found < 0 ? chunk.length : found;
  const before = chunk.subarray(at, end).indexOf(carriageReturn);
  return before < 0 ? end : at + before;
}
