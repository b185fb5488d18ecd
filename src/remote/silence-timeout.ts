import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";

export interface StreamLimits {
  host: string;
  /** Milliseconds without data while a reader waits. */
  silence: number;
  /** Bytes in all. */
  maxBytes?: number;
  /** Milliseconds in all. */
  total?: number;
}

/** The chunks of a stream from a host, within the limits. The time of a slow reader does not count as silence. */
export async function* withSilenceTimeout(
  stream: AsyncIterable<Buffer>,
  { host, silence, maxBytes = Number.POSITIVE_INFINITY, total = Number.POSITIVE_INFINITY }: StreamLimits,
): AsyncGenerator<Buffer> {
  const chunks = stream[Symbol.asyncIterator]();
  const deadline = Date.now() + total;
  let size = 0;
  try {
    for (;;) {
      const left = Math.max(0, deadline - Date.now());
      const late = () => (left < silence ? tooLong(host, total) : fellSilent(host, silence));
      const chunk = await waitFor(chunks.next(), { timeout: Math.min(silence, left), late });
      if (chunk.done) return;
      size += chunk.value.length;
      if (size > maxBytes) throw tooMuch(host, maxBytes);
      yield chunk.value;
    }
  } finally {
    // Not awaited: it may never resolve.
    void chunks.return?.()?.catch(() => {});
  }
}

const fellSilent = (host: string, silence: number): Fault =>
  new Fault("remote-timeout", `${host} stopped sending in the middle of its answer`, {
    why: `no data for ${silence / 1000} s`,
    next: `clm host check ${host}`,
  });

const tooLong = (host: string, total: number): Fault =>
  new Fault("remote-timeout", `${host} did not finish its answer within ${total / 1000} s`, {
    next: `clm host check ${host}`,
  });

const tooMuch = (host: string, maxBytes: number): Fault =>
  new Fault("remote-failed", `${host} sent an answer over the size limit`, {
    why: `more than ${Math.round(maxBytes / (1 << 20))} MB of it came`,
    next: `clm host check ${host}`,
  });
