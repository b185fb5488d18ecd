import type { Readable, Writable } from "node:stream";

/** Writes to a stream that somebody else reads, and stops its source until there is room again. */
export function writeWithBackpressure(source: Readable, target: Writable, chunk: Buffer): void {
  if (target.write(chunk)) return;
  source.pause();
  const resume = () => {
    target.off("drain", resume).off("close", resume);
    source.resume();
  };
  target.on("drain", resume).on("close", resume);
}
