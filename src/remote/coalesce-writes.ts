import type { Writable } from "node:stream";

/**
 * Sends everything written in one turn of the event loop in one system call. With many channels on one connection each
 * would otherwise send its own small packet, which is most of the cost of sending.
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
