import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import { type ChainLine, unseal } from "../../state/audit/hash-chain.js";
import type { RequestLine } from "./request-line.js";

const chunkSize = 256 * 1024;
const newline = 10;

/** Also reads a growing file. Unlike LineReader it keeps bytes: a line that was tampered with may not be UTF-8. */
export class LogReader {
  /** Bytes after the last whole line, once the end was reached. */
  torn = 0;
  readonly #chunk = Buffer.allocUnsafe(chunkSize);
  #position = 0;
  #rest = Buffer.alloc(0);

  constructor(private readonly file: FileHandle) {}

  /** Some whole lines, or undefined at the end; asked again, those that were written since. */
  async more(): Promise<Buffer[] | undefined> {
    for (;;) {
      const { bytesRead } = await this.file.read(this.#chunk, 0, chunkSize, this.#position);
      if (bytesRead === 0) {
        this.torn = this.#rest.length;
        // The writer may take a refused line back, so its bytes are read again.
        this.#position = Math.min(this.#position - this.#rest.length, (await this.file.stat()).size);
        this.#rest = Buffer.alloc(0);
        return undefined;
      }
      this.#position += bytesRead;
      const bytes = Buffer.concat([this.#rest, this.#chunk.subarray(0, bytesRead)]);
      const lines: Buffer[] = [];
      let start = 0;
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
        lines.push(bytes.subarray(start, end));
        start = end + 1;
      }
      this.#rest = bytes.subarray(start);
      if (lines.length > 0) return lines;
    }
  }
}

/** Undefined for bytes that are not UTF-8: decoded, several of them would look the same. */
export const unsealed = (line: Buffer): ChainLine<Omit<RequestLine, "hash">> | undefined =>
  isUtf8(line) ? unseal(line.toString()) : undefined;

export function requestIn(line: Buffer): RequestLine | undefined {
  const parts = unsealed(line);
  return parts && { ...parts.entry, hash: parts.link.hash };
}

/** The seq of a line without parsing all of it. */
export function seqOf(line: Buffer): number | undefined {
  const [, seq] = /^\{"seq":(\d+),/.exec(line.toString("latin1", 0, 32)) ?? [];
  return seq === undefined ? undefined : Number(seq);
}
