import type { Exchange } from "../exchange/exchange.js";
import type { Tokens } from "../request/gateway-call.js";
import type { Refusal } from "../request/refusal.js";
import { chatAsStream, failedStream, responseAsStream } from "./as-stream.js";
import type { AnswerKind } from "./pass.js";

// Milliseconds. Until then a failure still has its own HTTP status; clients give up after thirty seconds or more.
const untilKeepalive = 10_000;
const head = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** Streams a whole answer, for agents that do not stream text. Comments keep the connection alive until it comes. */
export function restream({ response, call, parts }: Exchange, from: AnswerKind) {
  call.streamed = true;
  const begin = (headers: Record<string, string> = {}) => {
    if (!response.headersSent) response.writeHead(200, { ...headers, ...head });
  };
  const timer = setInterval(() => {
    begin();
    response.write(": keepalive\n\n");
  }, parts.keepalive ?? untilKeepalive);
  const stop = () => clearInterval(timer);
  response.once("close", stop);
  return {
    stop,
    answer(headers: Record<string, string>, body: Buffer): void {
      stop();
      begin(headers);
      response.end(from === "responses" ? responseAsStream(body) : chatAsStream(body));
    },
    fail(refusal: Refusal): void {
      stop();
      if (!response.headersSent) {
        response.writeHead(refusal.status, { "content-type": "application/json" }).end(refusal.body());
        return;
      }
      response.end(failedStream(refusal, from, { lastResponse: undefined, sequence: 0 }));
    },
  };
}

export type Restream = ReturnType<typeof restream>;

/** Ends a failed call: with its HTTP status while nothing was sent, in the stream afterwards. */
export async function failRestream(
  exchange: Exchange,
  stream: Restream,
  refusal: Refusal,
  tokens?: Tokens,
): Promise<void> {
  stream.stop();
  if (!exchange.response.headersSent) return exchange.refuse(refusal, tokens);
  const { status, code } = refusal;
  stream.fail((await exchange.conclude({ status, code, tokens })) ?? refusal);
}
