import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { FailureForms } from "../../agents/chat/failure.js";
import { endsItself, refuseEndlessInformation } from "../../remote/http.js";
import { redactedValue } from "../../text/redacted-json.js";
import { ByteBuffer } from "../byte-buffer.js";
import { cutUnreadResponse } from "../cut-unread-response.js";
import { clientGone, type Exchange, mostForLog } from "../exchange.js";
import type { CallOutcome, Tokens } from "../gateway-call.js";
import { Refusal } from "../refusal.js";
import type { ScopedIds } from "../scoped-ids.js";
import type { PooledConnection } from "../upstream-pool/pooled-connection.js";
import { classifyAnswer, failedCall } from "./classify-answer.js";
import { withContentParts } from "./content-parts.js";
import { objectIn, withData } from "./event-data.js";
import { type EventRewriter, eventFilter } from "./event-filter.js";
import { failedStream } from "./failed-stream.js";
import { headersBack, headersFor, storedAs } from "./headers.js";
import { withoutOwnToolEvents, withoutToolProgress } from "./own-tools.js";
import { withResponseIds } from "./response-ids.js";
import { failRestream, type Restream, restream } from "./restream.js";
import { streamTap } from "./tap.js";

export interface PassOptions {
  path: string;
  body: Buffer;
  /** Tokens, by the length of what is said. */
  input: number;
  /** How the agent words a failed model call. */
  failures: FailureForms;
  /** Tokens that an answer is taken to have, of which nobody heard a word. */
  output: number;
  from: AnswerKind;
  /** The caller asked for a stream, and the agent is asked for a whole answer: it does not stream text. */
  whole?: boolean;
  ids: ScopedIds;
}

/** Whose answer it is, and to what: an agent's to one of its two paths, or that of a proxy, which has no key of its own. */
export type AnswerKind = "chat" | "responses" | "proxy";

// Bytes. What is sent in one piece with its head goes through SSH in one packet.
const small = 16_384;

/** Sends a request on and passes the answer back. Resolves when that is over and its line is written. */
export function pass(exchange: Exchange, connection: PooledConnection, passing: PassOptions): Promise<void> {
  const { signal } = exchange;
  const { path, body } = passing;
  return new Promise((done, failed) => {
    exchange.heard = Date.now();
    const asked = begun(connection, { method: "POST", path, headers: headersFor(exchange, connection, passing) });
    let ended = false;
    /** Only the first of all ends counts. */
    const end = (work: () => Promise<void>) => {
      if (ended) return;
      ended = true;
      signal.removeEventListener("abort", stop);
      work().then(done, failed);
    };
    const stream = passing.whole ? restream(exchange, passing.from) : undefined;
    let soFar = (): Tokens => ({ input: passing.input, output: 0, estimated: true });
    const broken = (refusal: Refusal) =>
      end(async () => {
        asked.destroy();
        connection.destroy();
        stream?.stop();
        if (exchange.response.headersSent && !stream) return cut(exchange, refusal, soFar());
        // An agent that does not stream goes on when its caller leaves, and what it takes is not told any more.
        const left = refusal === clientGone && {
          input: passing.input,
          output: passing.output,
          estimated: true as const,
        };
        if (exchange.response.headersSent) return cut(exchange, refusal, left || soFar());
        await exchange.refuse(refusal, left || soFar());
      });
    const stop = () => broken(signal.reason);
    signal.addEventListener("abort", stop);

    asked.on("error", () => broken(brokeOff()));
    refuseEndlessInformation(asked, ({ message }) => broken(notAnAnswer(message)));
    asked.on("response", (answer: IncomingMessage) => {
      // What was on its way when its lane was closed still comes.
      if (ended) return void answer.resume();
      exchange.heard = Date.now();
      exchange.answering = true;
      if (answer.statusCode === 401 && connection.bearer) connection.bearerRefused();
      answer.on("error", () => broken(brokeOff()));
      answer.on("close", () => {
        if (!answer.complete) broken(brokeOff());
      });
      const whenOver = (work: () => Promise<void>) =>
        answer.on("end", async () => {
          if (!answer.complete) return;
          // A body that only the end of its lane ends looks whole wherever that was cut; that the host is gone is known by now.
          if (!endsItself(answer)) await new Promise(setImmediate);
          if (!endsItself(answer) && !connection.ssh.open) broken(brokeOff());
          else end(work);
        });
      const streams = answer.headers["content-type"]?.startsWith("text/event-stream");
      if (answer.statusCode === 200 && streams && !stream) {
        const passed = streamed(exchange, answer, passing, broken);
        soFar = passed.tokens;
        whenOver(passed.end);
        return;
      }
      const bytes = new ByteBuffer();
      answer.on("data", (chunk: Buffer) => {
        exchange.heard = Date.now();
        if (bytes.length + chunk.length > exchange.traffic.answerBytes) broken(tooLong());
        else bytes.push(chunk);
      });
      whenOver(() => whole(exchange, answer, bytes.take(), passing, stream));
    });
    // It may have been stopped on the way here, which is told nobody again.
    if (signal.aborted) stop();
    else if (body.length <= small) asked.end(body.toString("latin1"), "latin1");
    else asked.end(body);
  });
}

/** A header that Node does not send is refused at once, and nobody else would let go of the lane. */
function begun(connection: PooledConnection, options: RequestOptions): ClientRequest {
  try {
    return request({ ...options, agent: connection });
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

const tooLong = (): Refusal => new Refusal(502, "answer_too_large", "The answer has no end.");

const notAnAnswer = (why: string): Refusal => new Refusal(502, "upstream_error", `The agent gave no answer: ${why}.`);

function brokeOff(): Refusal {
  return new Refusal(502, "upstream_broke_off", "The connection to the agent ended in the middle of its answer.");
}

async function whole(
  exchange: Exchange,
  answer: IncomingMessage,
  body: Buffer,
  passing: PassOptions,
  stream: Restream | undefined,
): Promise<void> {
  const headers = headersBack(answer, passing.ids, exchange.parts.redact);
  const began = performance.now();
  const verdict = classifyAnswer(answer.statusCode ?? 0, headers, body, passing, exchange.parts.redact);
  const rest = exchange.traffic.share.used(exchange.call.target ?? "", performance.now() - began);
  if (rest > 0) await sleep(rest);
  if ("refusal" in verdict) {
    const { refusal, tokens } = verdict;
    return stream ? failRestream(exchange, stream, refusal, tokens) : exchange.refuse(refusal, tokens);
  }
  exchange.stored = storedAs(headers, verdict.response);
  const { status, code = "upstream_error" } = verdict.ending;
  if (!stream) return exchange.answer(verdict.ending, headers, verdict.body);
  if (status >= 400 && exchange.response.headersSent) {
    return failRestream(exchange, stream, new Refusal(status, code, "The agent refused the request."));
  }
  stream.stop();
  if (status >= 400) return exchange.answer(verdict.ending, headers, verdict.body);
  exchange.begun();
  const trouble = await exchange.conclude(verdict.ending, exchange.asked === undefined ? "" : verdict.body.toString());
  if (trouble) stream.fail(trouble);
  else stream.answer(headers, verdict.body);
}

/**
 * Writes each chunk as it comes. What may yet turn out to be a failure, and what holds the answer's last word, waits for the end,
 * and that for the line in the log.
 */
function streamed(exchange: Exchange, answer: IncomingMessage, passing: PassOptions, giveUp: (why: Refusal) => void) {
  const { input, failures, from, ids } = passing;
  const { response, call, parts, traffic, signal } = exchange;
  const tap = streamTap(exchange.asked === undefined ? undefined : mostForLog);
  const filter = eventFilter(judgeOf(passing, parts.redact));
  const held: Buffer[] = [];
  const headers = headersBack(answer, ids, parts.redact);
  call.streamed = true;
  response.writeHead(200, headers);
  response.flushHeaders();
  let length = 0;
  let heldBytes = 0;
  const pauses = pausesOf(answer);
  const take = (chunk: Buffer) => {
    exchange.heard = Date.now();
    exchange.begun();
    length += chunk.length;
    if (length > traffic.streamBytes) return giveUp(tooLong());
    const began = performance.now();
    tap.push(chunk);
    const passed = filter.push(chunk);
    held.push(passed);
    heldBytes += passed.length;
    if (heldBytes > traffic.answerBytes) return giveUp(tooLong());
    if (!(from === "proxy" ? tap.over : tap.mayFail(failures))) {
      heldBytes = 0;
      const ready = held.length === 1 ? passed : Buffer.concat(held);
      held.length = 0;
      if (ready.length > 0 && !response.write(ready)) response.once("drain", pauses.begin());
    }
    const rest = traffic.share.used(call.target ?? "", performance.now() - began);
    if (rest > 0) setTimeout(pauses.begin(), rest);
  };
  // Whatever an agent says, it ends no more than its own answer.
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
      // An agent that died looks as one that has said all, where only the end of its connection ends an answer.
      if (from !== "proxy" && !tap.complete) return cut(exchange, brokeOff(), tokens());
      held.push(filter.end());
      const answered = from === "responses" ? tap.response : undefined;
      exchange.stored = storedAs(headers, answered === undefined ? undefined : ids.response(answered));
      const failure = from === "proxy" ? undefined : tap.failure(headers, failures);
      const refusal = failure && failedCall(failure, parts.redact);
      const spent = failure ? tap.failedTokens(input, failure) : tokens();
      const ending = { status: refusal?.status ?? 200, ...(refusal && { code: refusal.code }) };
      const trouble = await exchange.conclude({ ...ending, ...(spent && { tokens: spent }) }, tap.said);
      if (trouble) endWith(exchange, trouble);
      else response.end(refusal ? failedStream(refusal, from, tap, ids.response) : Buffer.concat(held));
      cutUnreadResponse(response, traffic.unread);
    },
  };
}

/** Pauses of an answer, of which several may overlap: it goes on when all of them have ended. */
function pausesOf(answer: IncomingMessage) {
  let count = 0;
  return {
    /** Gives what ends it. */
    begin(): () => void {
      count++;
      answer.pause();
      return () => {
        count--;
        if (count === 0) answer.resume();
      };
    },
  };
}

/** What an agent answers is the caller's; what it says of a failure may be anything that went wrong, with whose key. */
function judgeOf({ from, ids }: PassOptions, redact: (text: string) => string): EventRewriter {
  const shown = judges[from](ids);
  return (event) => shown(tellsOfFailure(event) ? redactedEvent(event.toString(), redact) : event);
}

function redactedEvent(event: string, redact: (text: string) => string): Buffer {
  const said = objectIn(event);
  return Buffer.from(said ? withData(event, JSON.stringify(redactedValue(said, redact))) : redact(event));
}

const tellsOfFailure = (event: Buffer): boolean =>
  event.includes('"error"') && /"error":\s*[^n\s]/.test(event.toString());

const judges: Record<AnswerKind, (ids: ScopedIds) => EventRewriter> = {
  chat: () => withoutToolProgress,
  responses(ids) {
    const [toolless, whole, named] = [withoutOwnToolEvents(), withContentParts(), withResponseIds(ids.response)];
    return (event) => named(whole(toolless(event)));
  },
  proxy: () => (event) => event,
};

/** A stream that does not come to its end: its line first, then what happened, and no `[DONE]`. */
async function cut(exchange: Exchange, refusal: Refusal, tokens: CallOutcome["tokens"]): Promise<void> {
  const { status, code } = refusal;
  await exchange.conclude({ status, code, ...(tokens && { tokens }) });
  if (refusal !== clientGone) endWith(exchange, refusal);
}

// Milliseconds for somebody who does not read.
const timeout = 1000;

function endWith({ response }: Exchange, refusal: Refusal): void {
  const destroy = () => response.destroy();
  response.write(`\n\ndata: ${refusal.body()}\n\n`, destroy);
  setTimeout(destroy, timeout).unref();
}
