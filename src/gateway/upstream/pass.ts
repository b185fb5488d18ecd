import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type EventRewriter, EventSplitter, objectIn, withObject } from "../../agents/chat/events.js";
import { mayBeCut, refuseEndlessInformation } from "../../remote/http.js";
import { ByteBuffer } from "../../text/byte-buffer.js";
import { redactedValue } from "../../text/redacted-json.js";
import type { ServedAgent } from "../exchange/directory.js";
import { clientGone, type Exchange, mostForLog } from "../exchange/exchange.js";
import type { CallOutcome, Tokens } from "../request/gateway-call.js";
import { Refusal } from "../request/refusal.js";
import type { ScopedIds } from "../request/scoped-ids.js";
import type { PooledConnection } from "../upstream-pool/pooled-connection.js";
import { failedStream } from "./as-stream.js";
import { classifyAnswer, failedCall } from "./classify-answer.js";
import { headersBack, headersFor, storedAs } from "./headers.js";
import { withResponseIds } from "./response-ids.js";
import { type Restream, restream } from "./restream.js";
import { StreamTap } from "./tap.js";

export interface PassOptions {
  path: string;
  body: Buffer;
  agent: ServedAgent;
  /** Estimated tokens of the request. */
  input: number;
  /** Tokens that are counted for an answer that was never received. */
  output: number;
  from: AnswerKind;
  /** The caller asked for a stream, and the agent is asked for a whole answer because it does not stream text. */
  bufferAnswer?: boolean;
  ids: ScopedIds;
}

/** An agent's answer on one of its two paths, or that of its proxy. */
export type AnswerKind = "chat" | "responses" | "proxy";

// Bytes. A body that is sent together with its head goes through SSH in one packet.
const small = 16_384;

/** Sends a request on and passes the answer back. Resolves when its line is in the audit log. */
export function pass(exchange: Exchange, connection: PooledConnection, passing: PassOptions): Promise<void> {
  const { signal } = exchange;
  const { path, body } = passing;
  return new Promise((done, failed) => {
    exchange.lastUpstreamByteAt = Date.now();
    const upstreamRequest = startRequest(connection, {
      method: "POST",
      path,
      headers: headersFor(exchange, connection, passing),
    });
    let ended = false;
    /** Only the first end counts. */
    const end = (work: () => Promise<void>) => {
      if (ended) return;
      ended = true;
      signal.removeEventListener("abort", stop);
      work().then(done, failed);
    };
    const stream = passing.bufferAnswer ? restream(exchange, passing.from) : undefined;
    let soFar = (): Tokens => ({ input: passing.input, output: 0, estimated: true });
    const broken = (refusal: Refusal) =>
      end(async () => {
        upstreamRequest.destroy();
        connection.destroy();
        stream?.stop();
        const { headersSent } = exchange.response;
        // An agent that does not stream continues when its caller leaves, and its usage stays unknown.
        const isUnknown = refusal === clientGone && (stream !== undefined || !headersSent);
        const { input, output } = passing;
        const spent: Tokens = isUnknown ? { input, output, estimated: true } : soFar();
        await (headersSent ? cut(exchange, refusal, spent) : exchange.refuse(refusal, spent));
      });
    const stop = () => broken(signal.reason);
    signal.addEventListener("abort", stop);

    upstreamRequest.on("error", () => broken(brokeOff()));
    refuseEndlessInformation(upstreamRequest, ({ message }) => broken(notAnAnswer(message)));
    upstreamRequest.on("response", (answer: IncomingMessage) => {
      // It was already on its way when the connection was closed.
      if (ended) return void answer.resume();
      exchange.lastUpstreamByteAt = Date.now();
      exchange.headReceived = true;
      if (answer.statusCode === 401 && connection.bearer) connection.bearerRefused();
      answer.on("error", () => broken(brokeOff()));
      answer.on("close", () => {
        if (!answer.complete) broken(brokeOff());
      });
      const whenOver = (work: () => Promise<void>) =>
        answer.on("end", async () => {
          if (!answer.complete) return;
          if (await mayBeCut(answer, connection.ssh)) broken(brokeOff());
          else end(work);
        });
      const streams = answer.headers["content-type"]?.startsWith("text/event-stream");
      if (answer.statusCode === 200 && streams && !stream) {
        const passed = passStreamed(exchange, answer, passing, broken);
        soFar = passed.tokens;
        whenOver(passed.end);
        return;
      }
      const bytes = new ByteBuffer();
      answer.on("data", (chunk: Buffer) => {
        exchange.lastUpstreamByteAt = Date.now();
        if (bytes.length + chunk.length > exchange.traffic.answerBytes) broken(tooLong());
        else bytes.push(chunk);
      });
      whenOver(() => passBuffered(exchange, answer, bytes.take(), passing, stream));
    });
    // An aborted signal fires no further event.
    if (signal.aborted) stop();
    else if (body.length <= small) upstreamRequest.end(body.toString("latin1"), "latin1");
    else upstreamRequest.end(body);
  });
}

/** Node throws at once for a header it does not send; the connection must be closed then. */
function startRequest(connection: PooledConnection, options: RequestOptions): ClientRequest {
  try {
    return request({ ...options, agent: connection });
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

const tooLong = (): Refusal => new Refusal(502, "answer_too_large", "The answer is too long.");
const notAnAnswer = (why: string): Refusal =>
  new Refusal(502, "upstream_error", `The agent sent no final response: ${why}.`);

function brokeOff(): Refusal {
  return new Refusal(502, "upstream_broke_off", "The connection to the agent ended in the middle of its answer.");
}

async function passBuffered(
  exchange: Exchange,
  answer: IncomingMessage,
  body: Buffer,
  passing: PassOptions,
  stream: Restream | undefined,
): Promise<void> {
  const { dialect } = passing.agent;
  const headers = headersBack(answer, { dialect, ids: passing.ids }, exchange.parts.redact);
  const began = performance.now();
  const verdict = classifyAnswer(answer.statusCode ?? 0, headers, body, passing, exchange.parts.redact);
  const rest = exchange.traffic.share.used(exchange.call.target ?? "", performance.now() - began);
  if (rest > 0) await sleep(rest);
  const to = stream ?? exchange;
  if ("refusal" in verdict) return to.refuse(verdict.refusal, verdict.tokens);
  exchange.stored = storedAs(headers, dialect, verdict.response);
  return to.answer(verdict.ending, headers, verdict.body);
}

/** Writes chunks as they come, but holds possible failures and the answer's end until its line is in the log. */
function passStreamed(
  exchange: Exchange,
  answer: IncomingMessage,
  passing: PassOptions,
  giveUp: (why: Refusal) => void,
) {
  const { input, agent, from, ids } = passing;
  const { response, call, parts, traffic, signal } = exchange;
  const tap = new StreamTap(agent.signs, exchange.loggedRequest === undefined ? undefined : mostForLog);
  const rewrite = rewriterFor(passing, parts.redact);
  let held: Buffer[] = [];
  let heldBytes = 0;
  const hold = (bytes: Buffer) => {
    held.push(bytes);
    heldBytes += bytes.length;
  };
  const splitter = new EventSplitter({
    onEvent(event, isComplete) {
      if (isComplete) tap.take(event);
      hold(rewrite(event));
    },
    onOther: hold,
  });
  const headers = headersBack(answer, { dialect: agent.dialect, ids }, parts.redact);
  call.streamed = true;
  response.writeHead(200, headers);
  response.flushHeaders();
  let length = 0;
  let pauses = 0;
  /** Returns the function that ends the pause. Pauses may overlap: the answer continues after the last of them. */
  const pause = () => {
    pauses++;
    answer.pause();
    return () => {
      pauses--;
      if (pauses === 0) answer.resume();
    };
  };
  const take = (chunk: Buffer) => {
    exchange.lastUpstreamByteAt = Date.now();
    exchange.begun();
    length += chunk.length;
    if (length > traffic.streamBytes) return giveUp(tooLong());
    const began = performance.now();
    splitter.push(chunk);
    if (heldBytes > traffic.answerBytes) return giveUp(tooLong());
    if (heldBytes > 0 && !(from === "proxy" ? tap.over : tap.mayFail)) {
      const ready = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held);
      held = [];
      heldBytes = 0;
      if (!response.write(ready)) response.once("drain", pause());
    }
    const rest = traffic.share.used(call.target ?? "", performance.now() - began);
    if (rest > 0) setTimeout(pause(), rest);
  };
  // An error here ends this answer only.
  answer.on("data", (chunk: Buffer) => {
    if (signal.aborted) return;
    try {
      take(chunk);
    } catch (error) {
      parts.trouble(error);
      giveUp(brokeOff());
    }
  });
  const tokens = (): Tokens => tap.tokens(input);
  return {
    tokens,
    async end(): Promise<void> {
      splitter.end();
      // Where the end of the connection ends the answer, an agent that died looks as if it had finished.
      if (from !== "proxy" && !tap.complete) return cut(exchange, brokeOff(), tokens());
      const answered = from === "responses" ? tap.response : undefined;
      exchange.stored = storedAs(headers, agent.dialect, answered && ids.response(answered));
      const failure = from === "proxy" ? undefined : tap.failure(headers);
      const refusal = failure && failedCall(failure, parts.redact);
      const spent = failure ? tap.failedTokens(input, failure) : tokens();
      const ending = { status: refusal?.status ?? 200, code: refusal?.code, tokens: spent };
      const trouble = await exchange.conclude(ending, tap.text);
      if (trouble) endWith(exchange, trouble);
      else response.end(refusal ? failedStream(refusal, from, tap, ids.response) : Buffer.concat(held));
      exchange.cutUnread();
    },
  };
}

/** The dialect's rewrites, with the caller's ids. Reports of errors may contain anybody's key, so they are redacted. */
function rewriterFor({ agent, from, ids }: PassOptions, redact: (text: string) => string): EventRewriter {
  const redacted: EventRewriter = (event) => (reportsError(event) ? redactedEvent(event, redact) : event);
  if (from === "proxy") return redacted;
  const rewrite = agent.dialect.eventRewriter(from);
  if (from === "chat") return (event) => rewrite(redacted(event));
  const rename = withResponseIds(ids.response);
  return (event) => rename(rewrite(redacted(event)));
}

function redactedEvent(event: Buffer, redact: (text: string) => string): Buffer {
  const said = objectIn(event);
  return said ? withObject(event, redactedValue(said, redact) as object) : Buffer.from(redact(event.toString()));
}

const reportsError = (event: Buffer): boolean =>
  event.includes('"error"') && /"error":\s*[^n\s]/.test(event.toString());

/** Ends a stream that broke off: first its line in the log, then the error, and no `[DONE]`. */
async function cut(exchange: Exchange, refusal: Refusal, tokens: CallOutcome["tokens"]): Promise<void> {
  const { status, code } = refusal;
  await exchange.conclude({ status, code, tokens });
  if (refusal !== clientGone) endWith(exchange, refusal);
}

// Milliseconds for a caller who does not read.
const timeout = 1000;

function endWith({ response }: Exchange, refusal: Refusal): void {
  const destroy = () => response.destroy();
  response.write(`\n\ndata: ${refusal.body()}\n\n`, destroy);
  setTimeout(destroy, timeout).unref();
}
