import {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  request,
} from "node:http";
import { endsItself } from "../../remote/http.js";
import type { Ending, Tokens } from "../call.js";
import { clientGone, type Exchange, mostForLog } from "../exchange.js";
import { Refusal } from "../refusal.js";
import type { Lane } from "../road/lane.js";
import { withContentParts } from "./content-parts.js";
import { type EventJudge, eventFilter } from "./event-filter.js";
import { judged } from "./judged.js";
import { withoutOwnToolEvents, withoutToolProgress } from "./own-tools.js";
import { streamTap } from "./tap.js";

export interface Passing {
  path: string;
  body: Buffer;
  /** Tokens, by the length of what is said. */
  input: number;
  /** What the texts of failures begin with. */
  failures: readonly string[];
  /** Tokens that an answer is taken to have, of which nobody heard a word. */
  output: number;
  from: Answering;
}

/** Whose answer it is, and to what: an agent's to one of its two paths, or that of a proxy, which has no key of its own. */
export type Answering = "chat" | "responses" | "proxy";

/** Of what the caller sent, this goes on. Hermes answers 403 to whoever names an Origin. */
const sentOn: readonly string[] = ["content-type", "accept", "user-agent", "idempotency-key"];
/** To an agent alone: a proxy would pass them on to its vendor. */
const sessionHeaders: readonly string[] = ["x-hermes-session-id", "x-hermes-session-key"];

// Bytes. What is sent in one piece with its head goes through SSH in one packet.
const small = 16_384;
const longestAnswer = 64 * 1024 * 1024;

/** Sends a request on and passes the answer back. Resolves when that is over and its line is written. */
export function pass(exchange: Exchange, lane: Lane, passing: Passing): Promise<void> {
  const { signal } = exchange;
  const { path, body } = passing;
  return new Promise((done, failed) => {
    exchange.heard = Date.now();
    const asked = begun(lane, { method: "POST", path, headers: headersFor(exchange, lane, passing) });
    let ended = false;
    /** Only the first of all ends counts. */
    const end = (work: () => Promise<void>) => {
      if (ended) return;
      ended = true;
      signal.removeEventListener("abort", stop);
      work().then(done, failed);
    };
    let soFar = (): Tokens => ({ input: passing.input, output: 0, estimated: true });
    const broken = (refusal: Refusal) =>
      end(async () => {
        asked.destroy();
        lane.destroy();
        if (exchange.response.headersSent) return cut(exchange, refusal, soFar());
        // An agent that does not stream goes on when its caller leaves, and what it takes is not told any more.
        const left = refusal === clientGone && {
          input: passing.input,
          output: passing.output,
          estimated: true as const,
        };
        await exchange.refuse(refusal, left || soFar());
      });
    const stop = () => broken(signal.reason);
    signal.addEventListener("abort", stop);

    asked.on("error", () => broken(brokeOff()));
    asked.on("response", (answer: IncomingMessage) => {
      // What was on its way when its lane was closed still comes.
      if (ended) return void answer.resume();
      exchange.heard = Date.now();
      if (answer.statusCode === 401 && lane.bearer) lane.bearerRefused();
      answer.on("error", () => broken(brokeOff()));
      answer.on("close", () => {
        if (!answer.complete) broken(brokeOff());
      });
      const whenOver = (work: () => Promise<void>) =>
        answer.on("end", async () => {
          if (!answer.complete) return;
          // A body that only the end of its lane ends looks whole wherever that was cut; that the host is gone is known by now.
          if (!endsItself(answer)) await new Promise(setImmediate);
          if (!endsItself(answer) && !lane.connection.open) broken(brokeOff());
          else end(work);
        });
      if (answer.statusCode === 200 && answer.headers["content-type"]?.startsWith("text/event-stream")) {
        const stream = streamed(exchange, answer, passing, () => broken(brokeOff()));
        soFar = stream.tokens;
        whenOver(stream.end);
        return;
      }
      const chunks: Buffer[] = [];
      let length = 0;
      answer.on("data", (chunk: Buffer) => {
        exchange.heard = Date.now();
        length += chunk.length;
        if (length > longestAnswer) broken(new Refusal(502, "answer_too_large", "The answer has no end."));
        else chunks.push(chunk);
      });
      whenOver(() => whole(exchange, answer, Buffer.concat(chunks), passing));
    });
    // It may have been stopped on the way here, which is told nobody again.
    if (signal.aborted) stop();
    else if (body.length <= small) asked.end(body.toString("latin1"), "latin1");
    else asked.end(body);
  });
}

/** A header that Node does not send is refused at once, and nobody else would let go of the lane. */
function begun(lane: Lane, options: RequestOptions): ClientRequest {
  try {
    return request({ ...options, agent: lane });
  } catch (error) {
    lane.destroy();
    throw error;
  }
}

function headersFor({ request: { headers } }: Exchange, lane: Lane, { body, from }: Passing): OutgoingHttpHeaders {
  const sent: OutgoingHttpHeaders = { host: lane.authority, "content-length": body.length };
  for (const name of from === "proxy" ? sentOn : [...sentOn, ...sessionHeaders]) {
    const value = headers[name];
    if (typeof value === "string") sent[name] = value;
  }
  if (lane.bearer) sent.authorization = `Bearer ${lane.bearer.reveal()}`;
  return sent;
}

/** Of what came back, this goes to the caller. */
function headersBack({ headers }: IncomingMessage, redact: (text: string) => string): Record<string, string> {
  const back: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    const passes = name === "content-type" || name === "cache-control" || name === "retry-after";
    if ((passes || name.startsWith("x-hermes-")) && typeof value === "string") back[name] = value;
  }
  if (back["x-hermes-error"] !== undefined) back["x-hermes-error"] = redact(back["x-hermes-error"]);
  return back;
}

function brokeOff(): Refusal {
  return new Refusal(502, "upstream_broke_off", "The connection to the agent ended in the middle of its answer.");
}

async function whole(exchange: Exchange, answer: IncomingMessage, body: Buffer, passing: Passing): Promise<void> {
  const headers = headersBack(answer, exchange.parts.redact);
  const verdict = judged(answer.statusCode ?? 0, headers, body, passing, exchange.parts.redact);
  if ("refusal" in verdict) return exchange.refuse(verdict.refusal, verdict.tokens);
  await exchange.answer(verdict.ending, headers, verdict.body);
}

/** Writes each chunk as it comes. What holds the answer's last word waits for the end, and that for the line in the log. */
function streamed(exchange: Exchange, answer: IncomingMessage, { input, failures, from }: Passing, giveUp: () => void) {
  const { response, call, parts } = exchange;
  const tap = streamTap(exchange.asked === undefined ? undefined : mostForLog);
  const filter = eventFilter(judgeOf(from, parts.redact));
  const held: Buffer[] = [];
  const headers = headersBack(answer, parts.redact);
  call.streamed = true;
  response.writeHead(200, headers);
  response.flushHeaders();
  let heldBytes = 0;
  const take = (chunk: Buffer) => {
    exchange.heard = Date.now();
    exchange.begun();
    tap.push(chunk);
    const passed = filter.push(chunk);
    if (tap.over) {
      held.push(passed);
      heldBytes += passed.length;
      if (heldBytes > longestAnswer) throw new Error("an agent goes on after its last word");
    } else if (passed.length > 0 && !response.write(passed)) {
      answer.pause();
      response.once("drain", () => answer.resume());
    }
  };
  // Whatever an agent says, it ends no more than its own answer.
  answer.on("data", (chunk: Buffer) => {
    try {
      take(chunk);
    } catch (error) {
      parts.trouble(error);
      giveUp();
    }
  });
  const tokens = (): Tokens => tap.tokens(input);
  return {
    tokens,
    async end(): Promise<void> {
      held.push(filter.end());
      const failed = tap.failure(headers, failures) !== undefined;
      const ending = { status: 200, ...(failed && { code: "agent_failed" }), tokens: tokens() };
      const trouble = await exchange.conclude(ending, tap.said);
      if (trouble) endWith(exchange, trouble);
      else response.end(Buffer.concat(held));
    },
  };
}

/** What an agent answers is the caller's; what it says of a failure may be anything that went wrong, with whose key. */
function judgeOf(from: Answering, redact: (text: string) => string): EventJudge {
  const shown = judges[from]();
  return (event) => shown(tellsOfFailure(event) ? Buffer.from(redact(event.toString())) : event);
}

const tellsOfFailure = (event: Buffer): boolean =>
  event.includes('"error"') && /"error":\s*[^n\s]/.test(event.toString());

const judges: Record<Answering, () => EventJudge> = {
  chat: () => withoutToolProgress,
  responses() {
    const [toolless, whole] = [withoutOwnToolEvents(), withContentParts()];
    return (event) => whole(toolless(event));
  },
  proxy: () => (event) => event,
};

/** A stream that does not come to its end: its line first, then what happened, and no `[DONE]`. */
async function cut(exchange: Exchange, refusal: Refusal, tokens: Ending["tokens"]): Promise<void> {
  const { status, code } = refusal;
  await exchange.conclude({ status, code, ...(tokens && { tokens }) });
  if (refusal !== clientGone) endWith(exchange, refusal);
}

// Milliseconds for somebody who does not read.
const patience = 1000;

function endWith({ response }: Exchange, refusal: Refusal): void {
  const destroy = () => response.destroy();
  response.write(`\n\ndata: ${refusal.body()}\n\n`, destroy);
  setTimeout(destroy, patience).unref();
}
