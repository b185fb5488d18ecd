import type { Writable } from "node:stream";

/**
 * All that is written in one turn of the loop goes to the system in one piece: with many channels in one connection each
 * would else send its own small packet, and that is most of what sending costs.
 */
export function coalesceWrites(stream: Writable): void {
  const write = stream.write.bind(stream) as (...given: unknown[]) => boolean;
  let gathering = false;
  const send = () => {
    gathering = false;
    stream.uncork();
  };
  stream.write = (...given: unknown[]) => {
    if (!gathering) {
      gathering = true;
      stream.cork();
      setImmediate(send);
    }
    return write(...given);
  };
}
