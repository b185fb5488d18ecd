import type { Ending, Exchange } from "../exchange/exchange.js";
import type { Tokens } from "../request/gateway-call.js";
import { Refusal } from "../request/refusal.js";
import { chatAsStream, failedStream, responseAsStream } from "./as-stream.js";
import type { AnswerKind } from "./pass.js";

// Milliseconds. Until then a failure still has its own HTTP status; clients give up after thirty seconds or more.
const untilKeepalive = 10_000;
const head = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** Streams a whole answer, for agents that do not stream text. Comments keep the connection alive until it comes. */
export function restream(exchange: Exchange, from: AnswerKind) {
  const { response, call, parts } = exchange;
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
  const end = (events: string) => {
    response.end(events);
    exchange.cutUnread();
  };
  /** In the stream, where one has begun. */
  const fail = (refusal: Refusal) => {
    if (response.headersSent) end(failedStream(refusal, from));
    else exchange.sendRefusal(refusal);
  };

  async function refuse(refusal: Refusal, tokens?: Tokens): Promise<void> {
    stop();
    if (!response.headersSent) return exchange.refuse(refusal, tokens);
    const { status, code } = refusal;
    fail((await exchange.conclude({ status, code, tokens })) ?? refusal);
  }

  async function answer(ending: Ending, headers: Record<string, string>, body: Buffer): Promise<void> {
    stop();
    const { status, code = "upstream_error" } = ending;
    if (status >= 400) {
      if (!response.headersSent) return exchange.answer(ending, headers, body);
      return refuse(new Refusal(status, code, "The agent refused the request."));
    }
    exchange.begun();
    const trouble = await exchange.conclude(ending, body);
    if (trouble) return fail(trouble);
    begin(headers);
    end(from === "responses" ? responseAsStream(body) : chatAsStream(body));
  }

  return { stop, refuse, answer };
}

export type Restream = ReturnType<typeof restream>;
