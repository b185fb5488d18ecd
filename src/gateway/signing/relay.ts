import { createHash, timingSafeEqual } from "node:crypto";
import * as http from "node:http";
import * as https from "node:https";
import { pipeline } from "node:stream";
import type { Secret } from "../../secret.js";
import { readBody } from "../request/read-body.js";
import { Refusal, unauthorized } from "../request/refusal.js";
import { type CoveredHeaders, type Signer, signedHeaders } from "./sign.js";

export interface RelayOptions {
  signer: Signer;
  /** The gateway; its path is ignored. */
  to: URL;
  /** The bearer that a tool must send; without one, anybody who connects is served. */
  local: Secret | undefined;
  covered: CoveredHeaders;
  now: () => Date;
}

/** Signs the requests of tools, passes them to a gateway and streams the answers back. Does not listen yet. */
export function relay(relaying: RelayOptions): http.Server {
  const send = sender(relaying);
  const pass = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    try {
      mustBeTool(request, relaying.local);
      // The signature covers the whole body.
      const answer = await send(request, await readBody(request, response, gone.signal), gone.signal);
      response.writeHead(answer.statusCode ?? 502, passedOn(answer.headers));
      response.flushHeaders();
      pipeline(answer, response, () => {});
    } catch (error) {
      if (!gone.signal.aborted) refuse(request, response, error);
    }
  };
  return http.createServer(pass).on("checkContinue", pass);
}

function sender({ signer: { id, secret }, to, now, covered }: RelayOptions) {
  const secure = to.protocol === "https:";
  const { Agent, request } = secure ? https : http;
  const port = to.port === "" ? (secure ? 443 : 80) : Number(to.port);
  const place = { hostname: to.hostname.replace(/^\[|\]$/g, ""), port, agent: new Agent({ keepAlive: true }) };

  return (asked: http.IncomingMessage, body: Buffer, signal: AbortSignal): Promise<http.IncomingMessage> => {
    const { method = "GET", url = "/" } = asked;
    const had = asked.headers["content-length"] ?? asked.headers["transfer-encoding"];
    const sentOn = passedOn(asked.headers, isOurs);
    const headers: http.OutgoingHttpHeaders = {
      ...sentOn,
      host: to.host,
      ...(had !== undefined && { "content-length": body.length }),
      ...signedHeaders(secret, { method, url, body, keyId: id, now: now(), headers: sentOn, covered }),
    };
    const once = (again: boolean): Promise<http.IncomingMessage> =>
      new Promise((done, failed) => {
        const sent = request({ ...place, method, path: url, headers, signal });
        let answered = false;
        sent.on("response", (answer) => {
          answered = true;
          done(answer);
        });
        sent.on("error", (error: NodeJS.ErrnoException) => {
          // A kept-alive connection may have been closed just then. The nonce makes it safe to send the request again.
          if (again && !answered && sent.reusedSocket && error.code === "ECONNRESET") once(false).then(done, failed);
          else failed(unreachable(to, error));
        });
        sent.end(body);
      });
    return once(true);
  };
}

/** Headers of the connection, not of the request (RFC 9110). */
const ofConnection = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);
/** Headers that end here, or are replaced. */
const isOurs = (name: string): boolean =>
  ["authorization", "host", "expect"].includes(name) || name.startsWith("x-clm-");

function passedOn(headers: http.IncomingHttpHeaders, without?: (name: string) => boolean): http.IncomingHttpHeaders {
  const named = new Set((headers.connection ?? "").toLowerCase().split(/[\s,]+/));
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !ofConnection.has(name) && !named.has(name) && !without?.(name)),
  );
}

function mustBeTool({ headers, url = "" }: http.IncomingMessage, local: Secret | undefined): void {
  if (!url.startsWith("/")) throw new Refusal(400, "bad_target", "This proxy signs requests to one gateway only.");
  if (local) {
    const [, bearer = ""] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
    if (timingSafeEqual(digest(bearer), digest(local.reveal()))) return;
    throw unauthorized(
      "local_key_invalid",
      "Send the local key of clm gateway sign-proxy as the bearer: the one that it printed when it started.",
    );
  }
  // Any web page in a browser on this machine can send requests to its ports.
  if (headers.origin !== undefined || headers["sec-fetch-site"] !== undefined || !isHere(headers.host)) {
    throw new Refusal(403, "browser_refused", "This proxy signs for tools on this machine, not for web pages.");
  }
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
const isHere = (host = ""): boolean => /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host);

function refuse(request: http.IncomingMessage, response: http.ServerResponse, error: unknown): void {
  const refusal =
    error instanceof Refusal ? error : new Refusal(500, "sign_proxy_failed", "clm gateway sign-proxy failed.");
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const answer = () => response.writeHead(refusal.status, { "content-type": "application/json" }).end(refusal.body());
  if (request.headers.expect !== undefined) {
    // The body was not sent yet; if the tool sends it all the same, it must not be read as the next request.
    response.shouldKeepAlive = false;
    answer();
  } else if (request.readableEnded) answer();
  else {
    // A tool that is still sending would take the end of the connection for the answer.
    request.once("end", answer).resume();
  }
}

const unreachable = ({ origin }: URL, { code, message }: NodeJS.ErrnoException): Refusal =>
  new Refusal(
    502,
    "gateway_unreachable",
    `The gateway at ${origin} does not answer (${code ?? message}). Start it with: clm gateway serve`,
  );
