import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { type ChainLine, unseal } from "../../state/audit/hash-chain.js";
import type { RequestLine } from "./request-line.js";

/** The lines of a file, as much as a read brings at a time. */
export interface LineReader {
  /** Some whole lines, or nothing at the end; asked again, what was written since. */
  more(): Promise<Buffer[] | undefined>;
  /** Bytes after the last line that has an end. */
  torn(): number;
}

const atOnce = 256 * 1024;
const newline = 10;

export function lineReader(file: FileHandle): LineReader {
  const room = Buffer.allocUnsafe(atOnce);
  let position = 0;
  let rest = Buffer.alloc(0);
  let torn = 0;
  return {
    torn: () => torn,
    async more() {
      for (;;) {
        const { bytesRead } = await file.read(room, 0, room.length, position);
        if (bytesRead === 0) {
          torn = rest.length;
          // The end of a line that was refused is taken back, so what stands here may be another when it is asked again.
          position = Math.min(position - rest.length, (await file.stat()).size);
          rest = Buffer.alloc(0);
          return undefined;
        }
        position += bytesRead;
        const bytes = Buffer.concat([rest, room.subarray(0, bytesRead)]);
        const lines: Buffer[] = [];
        let start = 0;
        for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
          lines.push(bytes.subarray(start, end));
          start = end + 1;
        }
        rest = bytes.subarray(start);
        if (lines.length > 0) return lines;
      }
    },
  };
}

type Entry = Omit<RequestLine, "hash">;

/** A line taken apart. Bytes that are no text are none of ours: read as text, several such look the same. */
export const unsealed = (line: Buffer): ChainLine<Entry> | undefined =>
  isUtf8(line) ? unseal<Entry>(line.toString()) : undefined;

export function requestIn(line: Buffer): RequestLine | undefined {
  const parts = unsealed(line);
  return parts && { ...parts.entry, hash: parts.link.hash };
}

/** The seq of a line without reading all of it. */
export function seqOf(line: Buffer): number {
  const [, seq] = /^\{"seq":(\d+),/.exec(line.toString("latin1", 0, 32)) ?? [];
  return seq === undefined ? Number.NaN : Number(seq);
}
