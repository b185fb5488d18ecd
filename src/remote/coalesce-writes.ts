import type { Writable } from "node:stream";

/** Sends all writes of one event-loop turn in one system call: a packet per channel is most of the cost of sending. */
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
