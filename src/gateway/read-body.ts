import type { IncomingMessage, ServerResponse } from "node:http";
import { ByteBuffer } from "./byte-buffer.js";
import { Refusal } from "./refusal.js";

/** Hermes' own limit: what is longer would be refused there, after it was sent. */
export const maxBodyBytes = 10_000_000;

export const tooLarge = (most: number): Refusal =>
  new Refusal(413, "body_too_large", `The body has more than ${most} bytes, which is all that is taken.`);

/** The whole body. What is refused is read all the same, and dropped: who sends it hears of it only when it was sent. */
export function readBody(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<Buffer> {
  const told = request.headers["content-length"];
  if (told !== undefined && Number(told) > maxBodyBytes) return Promise.reject(tooLarge(maxBodyBytes));
  // curl asks first when a body is large.
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((done, failed) => {
    const bytes = new ByteBuffer();
    const end = (finish: () => void) => {
      request.off("data", onData).off("end", onEnd);
      signal.removeEventListener("abort", onGone);
      finish();
    };
    const onData = (chunk: Buffer) => {
      if (bytes.length + chunk.length > maxBodyBytes) {
        end(() => failed(tooLarge(maxBodyBytes)));
        request.resume();
      } else bytes.push(chunk);
    };
    const onEnd = () => end(() => done(bytes.take()));
    const onGone = () => end(() => failed(signal.reason));
    request.on("data", onData).on("end", onEnd);
    signal.addEventListener("abort", onGone);
  });
}
