import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "./refusal.js";

/** Hermes' own limit: what is longer would be refused there, after it was sent. */
const longestBody = 10_000_000;

export const tooLarge = (most: number): Refusal =>
  new Refusal(413, "body_too_large", `The body has more than ${most} bytes, which is all that is taken.`);

/** The whole body. What is refused is read all the same, and dropped: who sends it hears of it only when it was sent. */
export function bodyOf(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<Buffer> {
  const told = request.headers["content-length"];
  if (told !== undefined && Number(told) > longestBody) return Promise.reject(tooLarge(longestBody));
  // curl asks first when a body is large.
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((done, failed) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (finish: () => void) => {
      request.off("data", onData).off("end", onEnd);
      signal.removeEventListener("abort", onGone);
      finish();
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > longestBody) {
        end(() => failed(tooLarge(longestBody)));
        request.resume();
      } else chunks.push(chunk);
    };
    const onEnd = () => end(() => done(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onGone = () => end(() => failed(signal.reason));
    request.on("data", onData).on("end", onEnd);
    signal.addEventListener("abort", onGone);
  });
}
