import type { Readable } from "node:stream";

export interface ReadOptions {
  signal: AbortSignal;
  /** Throws `tooMuch` above this. */
  maxBytes: number;
  tooMuch: () => Error;
}

export async function readAll(stream: Readable, { signal, maxBytes, tooMuch }: ReadOptions): Promise<Buffer> {
  const stop = () => stream.destroy();
  signal.addEventListener("abort", stop, { once: true });
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length > maxBytes) throw tooMuch();
      chunks.push(bytes);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  signal.throwIfAborted();
  return Buffer.concat(chunks);
}
