import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { fileURLToPath } from "node:url";
import { Fault } from "../../errors.js";

export interface Timeouts {
  /** Milliseconds without a byte. */
  idle: number;
  /** Milliseconds in total. */
  whole: number;
}

export interface Opened {
  /** Throws `CutShort` when it ends early. */
  chunks: AsyncIterable<Buffer>;
  close(): void;
}

export class CutShort extends Error {}

/** Opens a URL. Throws `unreachable` when there is no response. */
export async function openSource(from: URL, timeout: Timeouts, signal: AbortSignal): Promise<Opened> {
  const stop = new AbortController();
  const late = (why: string) => () => stop.abort(new Error(why));
  const idle = setTimeout(late(`nothing came for ${timeout.idle / 1000} s`), timeout.idle);
  const whole = setTimeout(late(`it took longer than ${timeout.whole / 1000} s`), timeout.whole);
  const either = AbortSignal.any([signal, stop.signal]);
  const close = () => {
    clearTimeout(idle);
    clearTimeout(whole);
    stop.abort(new Error("no more was wanted"));
  };
  /** Node reports only that it was aborted. */
  const reason = (error: unknown): string => {
    signal.throwIfAborted();
    const why = stop.signal.aborted ? stop.signal.reason : error;
    // For a name with several addresses the error has a code and no message.
    return why instanceof Error ? why.message || String((why as NodeJS.ErrnoException).code) : String(why);
  };

  async function* chunksOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of stream) {
        idle.refresh();
        yield chunk;
      }
    } catch (error) {
      throw new CutShort(reason(error));
    }
  }

  try {
    const stream = from.protocol === "file:" ? await readFrom(fileURLToPath(from), either) : await ask(from, either);
    idle.refresh();
    return { chunks: chunksOf(stream), close };
  } catch (error) {
    try {
      if (error instanceof Fault) throw error;
      const details = { why: reason(error), data: { url: from.href }, cause: error };
      throw new Fault("unreachable", `${from.href} cannot be read`, details);
    } finally {
      close();
    }
  }
}

async function readFrom(path: string, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
  // Opening a named pipe without a writer would block forever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await file.stat()).isFile()) {
    await file.close();
    throw new Error("it is not a plain file");
  }
  return file.createReadStream({ signal }).on("error", () => {});
}

async function ask(url: URL, signal: AbortSignal): Promise<AsyncIterable<Buffer>> {
  const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    // No shared agent: no connection stays open.
    const headers = { "accept-encoding": "identity", "user-agent": "clm" };
    request(url, { signal, agent: false, headers }, resolve).on("error", reject).end();
  });
  mustBeItself(
    url,
    response.on("error", () => {}),
  );
  return response;
}

/** Every redirect is refused: only the pinned URL is used. */
function mustBeItself(url: URL, { statusCode: status = 0, statusMessage, headers }: IncomingMessage): void {
  if (status === 200) return;
  const { location } = headers;
  const data = { url: url.href, status, ...(location && { location }) };
  if (status >= 300 && status < 400) {
    const why = `it answered ${status}, a redirect${location ? ` to ${location}` : ""}; clm does not follow it`;
    throw new Fault("integrity", `${url.href} redirects elsewhere`, { why, data });
  }
  const why = `it answered ${status} ${statusMessage ?? ""}`.trim();
  throw new Fault("unreachable", `${url.href} did not return the installer`, { why, data });
}
