import type { Readable } from "node:stream";

/** The last lines a program printed, as the reason for its failure; `otherwise` when it printed nothing. */
export function lastLines(output: string, count: number, otherwise?: string): string[] {
  const lines = output.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  return lines.length === 0 ? [otherwise ?? []].flat() : lines.slice(-count);
}

const tailLength = 2000;

/** Reads a stream to its end and keeps only its last characters: stderr, for when the program fails. */
export function tailOf(stream: Readable): () => string {
  let tail = "";
  stream.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-tailLength);
  });
  // An error of the stream is reported where the process is waited for.
  stream.on("error", () => {});
  return () => tail.trim();
}
