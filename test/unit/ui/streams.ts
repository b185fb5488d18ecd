import { PassThrough } from "node:stream";
import type { InStream, OutStream } from "../../../src/ui/streams.js";

/** A stream that records what is written to it. */
export function memory(tty?: { columns: number; rows?: number }): OutStream & { text: () => string } {
  const stream = new PassThrough();
  let text = "";
  stream.on("data", (chunk) => {
    text += chunk;
  });
  // As with the real streams, Node does not end it when a piped source ends: output may follow a prompt.
  const terminal = tty && { isTTY: true, rows: 24, _isStdio: true, ...tty };
  return Object.assign(stream, { text: () => text, ...terminal });
}

/** What a person types at a terminal. */
export function keyboard(): InStream & { type: (text: string) => void } {
  const stream = new PassThrough();
  return Object.assign(stream, {
    isTTY: true,
    setRawMode: () => stream,
    type: (text: string) => void stream.write(text),
  });
}
