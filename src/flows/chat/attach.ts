import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import type { Attachment } from "../../agents/chat/message.js";
import { readAll } from "../../async/read-all.js";
import { Fault } from "../../errors.js";

// No agent reads that much of a message; and a path may lead to something endless.
const maxBytes = 1024 * 1024;

/** A text file for a message; other files are refused. */
export async function attachment(path: string, signal: AbortSignal): Promise<Attachment> {
  return { name: basename(path), text: await textIn(createReadStream(path, { signal }), path, signal) };
}

export async function textIn(stream: Readable, what: string, signal: AbortSignal): Promise<string> {
  const tooMuch = () => new Fault("bad-input", `${what} is larger than 1 MB`, { why: "nothing was sent" });
  const bytes = await readAll(stream, { signal, maxBytes, tooMuch }).catch((error) => {
    signal.throwIfAborted();
    if (error instanceof Fault) throw error;
    const why = error.code === "EISDIR" ? "it is a directory" : error.message;
    throw new Fault("bad-input", `${what} cannot be read`, { why, cause: error });
  });
  if (bytes.includes(0) || !isUtf8(bytes)) {
    throw new Fault("bad-input", `${what} is not UTF-8 text`, { why: "nothing was sent" });
  }
  return new TextDecoder().decode(bytes);
}
