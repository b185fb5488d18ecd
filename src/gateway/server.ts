import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { answer } from "./answering.js";
import { Exchange } from "./exchange.js";
import type { GatewayParts } from "./gateway-parts.js";
import { modelsOf } from "./models.js";
import { Refusal, shuttingDown } from "./refusal.js";
import { reportOnce } from "./report-once.js";
import { type TrafficLimits, trafficWith } from "./traffic.js";

export interface ServerSettings {
  address: string;
  /** 0 for any that is free. */
  port: number;
  tls?: { cert: Buffer; key: Buffer };
  /** How many there may be at once; those beyond are closed. As many as there are when it is not said. */
  connections?: number;
  /** Milliseconds that requests may go on when it is to stop. */
  drain: number;
  /** Milliseconds an agent may say nothing in the middle of an answer, and before it (as long when it is not said). */
  silence: number;
  firstByte?: number;
  /** Milliseconds from a request to the end of its answer; an hour when it is not said. */
  total?: number;
  logBodies: boolean;
  traffic?: TrafficLimits;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Requests that have no answer yet. */
  readonly underWay: number;
  /** Takes nothing new, lets what is under way come to its end, and cuts what does not. Resolves when every line is written. */
  stop(): Promise<void>;
}

// Milliseconds. Who opens a connection must say what they want; how long an answer takes is another matter.
const timeouts = {
  headersTimeout: 15_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
  handshakeTimeout: 15_000,
};
// Without it Node would refuse who names no host by itself, with nothing in its answer.
const options = { ...timeouts, requireHostHeader: false };

/** The door: listens, and answers each request by what its parts say. */
export async function openGateway(given: GatewayParts, settings: ServerSettings): Promise<Gateway> {
  const parts: GatewayParts = { ...given, trouble: reportOnce(given.trouble) };
  const exchanges = new Set<Exchange>();
  const models = modelsOf(parts);
  const traffic = trafficWith(settings.traffic);
  let stopping = false;
  let emptied = () => {};

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = new Exchange(parts, request, response, traffic);
    exchanges.add(exchange);
    if (stopping) response.shouldKeepAlive = false;
    try {
      if (stopping) throw shuttingDown();
      await answer(exchange, models, settings.logBodies);
    } catch (error) {
      await exchange.refuse(exchange.signal.aborted ? exchange.signal.reason : error);
    } finally {
      exchange.giveBack();
      exchanges.delete(exchange);
      if (exchanges.size === 0) emptied();
    }
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    take(request, response).catch((error) => {
      parts.trouble(error);
      response.destroy();
    });
  };

  const { tls, drain, silence, firstByte = silence, total = usualTotal } = settings;
  const server = tls ? createTlsServer({ ...options, ...tls }, onRequest) : createServer(options, onRequest);
  if (settings.connections !== undefined) server.maxConnections = settings.connections;
  // A body that would be refused is not asked for.
  server.on("checkContinue", onRequest);
  // Node would answer whoever expects something else by itself, without a line.
  server.on("checkExpectation", onRequest);
  server.on("connect", (_request, socket) => tell(socket, "405 Method Not Allowed", noTunnel));
  server.on("clientError", notHttp);
  // Also those that have not come to the end of their handshake, of which Node's own list knows nothing.
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  // Each request that waits behind another one on a connection listens for its end.
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => void socket.setMaxListeners(0));
  await listen(server, settings);
  const port = (server.address() as AddressInfo).port;

  const sweep = setInterval(
    () => {
      for (const exchange of exchanges) {
        const most = exchange.answering ? silence : firstByte;
        if (Date.now() - exchange.heard > most) exchange.stop(silent(most));
        else if (Date.now() - exchange.call.at > total) exchange.stop(endless(total));
      }
    },
    Math.min(silence / 4, firstByte / 4, total / 4, 5000),
  ).unref();

  /** Resolves when nothing is under way, or after so many milliseconds. */
  const empty = (within: number) =>
    new Promise<void>((resolve) => {
      if (exchanges.size === 0) return resolve();
      const timer = setTimeout(resolve, within);
      emptied = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  return {
    port,
    get underWay() {
      return exchanges.size;
    },
    url: `http${tls ? "s" : ""}://${settings.address.includes(":") ? `[${settings.address}]` : settings.address}:${port}`,
    async stop() {
      stopping = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      for (const { response } of exchanges) if (!response.headersSent) response.shouldKeepAlive = false;
      await empty(drain);
      for (const exchange of exchanges) exchange.stop(shuttingDown());
      await empty(lastLines);
      clearInterval(sweep);
      // What was written last is on its way to who reads it.
      setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, 100);
      await closed;
    },
  };
}

const usualTotal = 3_600_000;

// Milliseconds for the lines of those that were cut.
const lastLines = 2000;

function listen(server: Server, { address, port }: ServerSettings): Promise<void> {
  return new Promise((listens, failed) => {
    server.once("error", failed);
    server.listen({ host: address, port, exclusive: true }, () => {
      server.off("error", failed);
      // Too many open files, say: whoever wanted to connect is told by the system.
      server.on("error", () => {});
      listens();
    });
  });
}

const silent = (milliseconds: number): Refusal =>
  new Refusal(504, "upstream_timeout", `The agent has said nothing for ${milliseconds / 1000} s.`);

const endless = (milliseconds: number): Refusal =>
  new Refusal(504, "answer_deadline", `The answer did not come to its end within ${milliseconds / 1000} s.`);

/** What is not HTTP is no request: it is told so, in the shape that callers know, and has no line. */
function notHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  // Who does not come to an end with TLS cannot be told anything, and would be waited for.
  const isHttp = /^(HPE_|ERR_HTTP_)/.test(error.code ?? "");
  if (!isHttp || !socket.writable) return void socket.destroy();
  const [status, code]: [string, string] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "headers_too_large"]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "request_timeout"]
        : ["400 Bad Request", "invalid_http"];
  tell(socket, status, new Refusal(400, code, "This is not a request that can be read."));
}

const noTunnel = new Refusal(405, "method_not_allowed", "This is no proxy: CONNECT is not answered.");

/** To who has a connection and no request that Node would let us answer. */
function tell(socket: Duplex, status: string, refusal: Refusal): void {
  const body = refusal.body();
  socket.on("error", () => {});
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Who is told may not hang up, and nobody else looks after it any more.
  socket.resume();
  setTimeout(() => socket.destroy(), hearing).unref();
}

// Milliseconds.
const hearing = 1000;
