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

interface ReadOptions extends Timeouts {
  signal: AbortSignal;
  maxBytes: number;
  onBytes: (count: number) => void;
}

export interface Received {
  bytes: Buffer;
  /** Why these are not all. */
  trouble?: string;
}

/** Reads a URL, at most to the first byte too many. Throws `unreachable` when there is no response. */
export async function readSource(
  from: URL,
  { idle, whole, signal, maxBytes, onBytes }: ReadOptions,
): Promise<Received> {
  const stop = new AbortController();
  const late = (why: string) => () => stop.abort(new Error(why));
  const silent = setTimeout(late(`no data for ${idle / 1000} s`), idle);
  const slow = setTimeout(late(`it took longer than ${whole / 1000} s`), whole);
  const either = AbortSignal.any([signal, stop.signal]);
  const chunks: Buffer[] = [];
  let stream: AsyncIterable<Buffer> | undefined;
  let count = 0;
  try {
    stream = from.protocol === "file:" ? await readFrom(fileURLToPath(from), either) : await ask(from, either);
    silent.refresh();
    for await (const chunk of stream) {
      silent.refresh();
      chunks.push(chunk);
      count += chunk.length;
      onBytes(count);
      if (count > maxBytes) return { bytes: Buffer.concat(chunks), trouble: `it is longer than ${maxBytes} bytes` };
    }
    return { bytes: Buffer.concat(chunks) };
  } catch (error) {
    if (error instanceof Fault) throw error;
    signal.throwIfAborted();
    // Node reports only that it was aborted.
    const why = reasonOf(stop.signal.aborted ? stop.signal.reason : error);
    if (stream) return { bytes: Buffer.concat(chunks), trouble: `it was cut short: ${why}` };
    throw new Fault("unreachable", `${from.href} cannot be read`, { why, data: { url: from.href }, cause: error });
  } finally {
    clearTimeout(silent);
    clearTimeout(slow);
    stop.abort(new Error("the reader stopped"));
  }
}

/** For a name with several addresses the error has a code and no message. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);

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
  const { sendRequest } = await import("../service/from-here.js");
  const headers = { "accept-encoding": "identity", "user-agent": "clm" };
  const response = await sendRequest({ method: "GET", url, headers }, signal);
  response.on("error", () => {});
  mustBeItself(url, response);
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
