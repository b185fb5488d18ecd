import type { IncomingMessage, ServerResponse } from "node:http";
import { ByteBuffer } from "../../text/byte-buffer.js";
import { Refusal } from "./refusal.js";

/** What the gateway reads at most, whatever the target accepts. */
export const maxBodyBytes = 10_000_000;

export const tooLarge = (most: number): Refusal =>
  new Refusal(413, "body_too_large", `The body has more than ${most} bytes.`);

/** The whole body. A body that is refused is still read and dropped, because the sender sees the answer only after sending. */
export function readBody(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<Buffer> {
  const length = request.headers["content-length"];
  if (length !== undefined && Number(length) > maxBodyBytes) return Promise.reject(tooLarge(maxBodyBytes));
  // curl asks first when the body is large.
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
