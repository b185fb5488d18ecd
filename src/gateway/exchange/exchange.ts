import { randomUUID } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Reservation } from "../allowance/allowance.js";
import type { CallOutcome, GatewayCall } from "../request/gateway-call.js";
import { Refusal } from "../request/refusal.js";
import { isOurs, leavesLine, MethodRefusal } from "../request/routes.js";
import type { SessionIds } from "../request/session-ids.js";
import type { GatewayParts } from "./gateway-parts.js";
import type { Traffic } from "./traffic.js";

/** How an exchange ends, without what it measures and logs by itself. */
export type Ending = Omit<CallOutcome, "took" | "first" | "bodies">;

export const clientGone = new Refusal(499, "client_gone", "The caller went away.");

/** One request and its answer. Whatever happens, it ends once, with at most one line in the audit log. */
export class Exchange {
  readonly call: GatewayCall;
  /** When the last byte came from upstream. */
  lastUpstreamByteAt = Date.now();
  reservation: Reservation | undefined;
  /** The ids under which the agent stored its answer, if it names any. */
  stored: SessionIds | undefined;
  /** The head of the answer has come. */
  headReceived = false;
  /** Only when bodies are logged. */
  loggedRequest: string | undefined;
  readonly #began = performance.now();
  #first: number | undefined;
  #over = false;
  readonly #stop = new AbortController();
  readonly #releases: (() => void)[] = [];

  constructor(
    readonly parts: GatewayParts,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly traffic: Traffic,
  ) {
    const { method = "", url = "", socket } = request;
    const query = url.indexOf("?");
    const path = query < 0 ? url : url.slice(0, query);
    this.call = {
      id: `req_${randomUUID().replaceAll("-", "")}`,
      at: this.lastUpstreamByteAt,
      method,
      // It goes into the log, and an unknown path may be anything, such as a key.
      path: isOurs(path) ? path : parts.redact(path),
      from: socket.remoteAddress ?? "",
    };
    response.setHeader("x-request-id", this.call.id);
    request.on("error", () => {});
    response.on("error", () => {});
    const gone = () => this.stop(clientGone);
    response.once("close", gone);
    // A request that waits behind another one on its connection hears of the connection's end only from the socket.
    if (!response.socket) {
      socket.once("close", gone);
      response.once("close", () => socket.off("close", gone));
    }
    parts.metrics.began();
  }

  /** Aborted with a Refusal when the request is not to be answered any more. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  stop(why: Refusal): void {
    if (!this.#over) this.#stop.abort(why);
  }

  /** Called by `releaseAll`, at the end. */
  onEnd(release: () => void): void {
    this.#releases.push(release);
  }

  releaseAll(): void {
    for (const each of this.#releases.splice(0)) each();
  }

  /** The first byte of the answer's body has come. */
  begun(): void {
    this.#first ??= performance.now() - this.#began;
  }

  /** Writes the line and settles the reservation. Returns a refusal if the line fails: then no answer may be given. */
  async conclude(ending: Ending, answered: string | Buffer = ""): Promise<Refusal | undefined> {
    this.#over = true;
    const took = performance.now() - this.#began;
    const { loggedRequest, reservation, stored } = this;
    const counted = ending.tokens && reservation?.settle(ending.tokens, { took, ids: stored });
    if (!ending.tokens) reservation?.release();
    const bodies =
      loggedRequest === undefined ? undefined : { asked: loggedRequest, answered: this.#loggable(answered.toString()) };
    const outcome: CallOutcome = { ...ending, ...counted, first: this.#first, took, bodies };
    let trouble: Refusal | undefined;
    try {
      if (leavesLine(this.call.path, this.request.headers)) await this.parts.log.write(this.call, outcome);
    } catch (error) {
      trouble = asRefusal(error, this.parts);
    }
    this.parts.metrics.ended(this.call, trouble ? { ...outcome, status: trouble.status, code: trouble.code } : outcome);
    return trouble;
  }

  /** Sends a whole answer, after its line is written. */
  async answer(ending: Ending, headers: OutgoingHttpHeaders, body: string | Buffer): Promise<void> {
    if (this.#over) return;
    this.begun();
    const trouble = await this.conclude(ending, body);
    if (trouble) this.sendRefusal(trouble);
    else this.#send(ending.status, headers, body);
  }

  /** Of a concluded exchange. */
  sendRefusal(refusal: Refusal): void {
    this.#send(refusal.status, headersOf(refusal), refusal.body());
  }

  async refuse(error: unknown, tokens?: CallOutcome["tokens"]): Promise<void> {
    if (this.#over) return;
    const refusal = asRefusal(error, this.parts);
    Object.assign(this.call, refusal.by);
    const { status, code } = refusal;
    const ending = { status, code, tokens };
    if (refusal === clientGone) await this.conclude(ending);
    else if (this.response.headersSent) {
      await this.conclude(ending);
      this.response.destroy();
    } else await this.answer(ending, headersOf(refusal), refusal.body());
  }

  keepLoggedRequest(body: Buffer): void {
    this.loggedRequest = this.#loggable(body.toString());
  }

  #loggable(text: string): string {
    if (text.length <= longestLogged) return this.parts.redact(text);
    // A secret that is cut in two is not recognised, so the end, where one may be, is left out afterwards.
    const shown = this.parts.redact(text.slice(0, longestLogged + longestSecret));
    return `${shown.slice(0, Math.min(longestLogged, Math.max(0, shown.length - longestSecret)))}…`;
  }

  #send(status: number, headers: OutgoingHttpHeaders, body: string | Buffer): void {
    const { request, response } = this;
    if (response.destroyed || response.headersSent) return;
    // A caller that is still sending reads the answer only afterwards, so the socket stays open. One that waits for a 100 must not
    // use this connection for another request.
    if (!request.complete) response.shouldKeepAlive = request.headers.expect === undefined;
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    response.end(body);
    this.cutUnread();
  }

  /** An answer that its caller does not read stays in memory after the request has ended: cuts the connection when it stalls. */
  cutUnread(): void {
    const { socket } = this.response;
    // Usually the kernel has taken all of it by now.
    if (!socket || socket.writableLength === 0) return;
    let left = socket.writableLength;
    const timer = setInterval(() => {
      if (socket.writableLength >= left) socket.destroy();
      left = socket.writableLength;
    }, this.traffic.unread).unref();
    this.response.once("close", () => clearInterval(timer));
  }
}

// Characters. An image would make a line of millions.
const longestLogged = 65_536;
const longestSecret = 8192;
/** Characters of an answer that contain all that is logged of it. */
export const mostForLog = longestLogged + longestSecret;

function headersOf(refusal: Refusal): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { "content-type": "application/json" };
  if (refusal.retryAfter !== undefined) headers["retry-after"] = String(refusal.retryAfter);
  if (refusal instanceof MethodRefusal) headers.allow = refusal.allow;
  return headers;
}

/** The message of an unexpected error may contain anything, so callers do not see it, nor the cause of a refusal. */
function asRefusal(error: unknown, parts: GatewayParts): Refusal {
  const known = error instanceof Refusal;
  if (!known || error.cause !== undefined) parts.trouble(error);
  if (known) return error;
  return new Refusal(500, "internal_error", "The gateway failed. Its own output says why.");
}
