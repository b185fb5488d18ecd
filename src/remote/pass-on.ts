import type { Readable, Writable } from "node:stream";

/** Writes to a stream that somebody else reads, and stops its source until there is room again. */
export function passOn(source: Readable, target: Writable, chunk: Buffer): void {
  if (target.write(chunk)) return;
  source.pause();
  const goOn = () => {
    target.off("drain", goOn).off("close", goOn);
    source.resume();
  };
  target.on("drain", goOn).on("close", goOn);
}
