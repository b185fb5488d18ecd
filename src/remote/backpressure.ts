import type { Readable, Writable } from "node:stream";

/** Writes to a stream and pauses the source while the stream is full. */
export function writeWithBackpressure(source: Readable, target: Writable, chunk: Buffer): void {
  if (target.write(chunk)) return;
  source.pause();
  const resume = () => {
    target.off("drain", resume).off("close", resume);
    source.resume();
  };
  target.on("drain", resume).on("close", resume);
}
