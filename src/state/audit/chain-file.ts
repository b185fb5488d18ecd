import { fstatSync, readSync, writeSync } from "node:fs";
import { type ChainLink, unseal } from "./hash-chain.js";

/** The end offset and link of the last complete line, and how many bytes a killed writer left after it. */
export function readEnd(fd: number): { end: number; last: ChainLink | undefined; torn: number } {
  const { size } = fstatSync(fd);
  for (let length = 4096; ; length *= 4) {
    const start = Math.max(0, size - length);
    const tail = Buffer.alloc(size - start);
    readSync(fd, tail, 0, tail.length, start);
    const newline = tail.lastIndexOf(10);
    const before = newline > 0 ? tail.lastIndexOf(10, newline - 1) : -1;
    if (start > 0 && before < 0) continue;
    const line = tail.subarray(before + 1, Math.max(newline, 0)).toString();
    const end = start + newline + 1;
    return { end, last: unseal(line)?.link, torn: size - end };
  }
}

export function writeAll(fd: number, bytes: Buffer, at: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(fd, bytes, written, bytes.length - written, at + written);
  }
}
