import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { waitFor } from "../async/wait.js";
import { answer } from "./answering.js";
import { Exchange } from "./exchange/exchange.js";
import type { GatewayParts } from "./exchange/gateway-parts.js";
import { Traffic, type TrafficLimits } from "./exchange/traffic.js";
import { Models } from "./models.js";
import { reportOnce } from "./report-once.js";
import { Refusal, shuttingDown } from "./request/refusal.js";

export interface ServerSettings {
  address: string;
  /** 0 for any that is free. */
  port: number;
  tls?: { cert: Buffer; key: Buffer };
  /** How many there may be at once; further ones are closed. Unlimited by default. */
  connections?: number;
  /** Milliseconds that requests have to end when the gateway stops. */
  drain: number;
  /** Milliseconds without a byte in the middle of an answer, and before it (the same by default). */
  silence: number;
  firstByte?: number;
  /** Milliseconds from a request to the end of its answer; an hour by default. */
  total?: number;
  logBodies: boolean;
  traffic?: TrafficLimits;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Requests that have no answer yet. */
  readonly underWay: number;
  /** Refuses new requests, lets current ones end and cuts those that do not. Resolves when every line is written. */
  stop(): Promise<void>;
}

// Milliseconds, for requests; answers may take longer.
const timeouts = {
  headersTimeout: 15_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
  handshakeTimeout: 15_000,
};
// Otherwise Node would refuse a request without a Host by itself, with an empty answer.
const options = { ...timeouts, requireHostHeader: false };

export async function openGateway(given: GatewayParts, settings: ServerSettings): Promise<Gateway> {
  const parts: GatewayParts = { ...given, trouble: reportOnce(given.trouble) };
  const exchanges = new Set<Exchange>();
  const models = new Models(parts);
  const traffic = new Traffic(settings.traffic);
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
      exchange.releaseAll();
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
  // Not to ask for a body that would be refused.
  server.on("checkContinue", onRequest);
  // Otherwise Node would answer by itself, without a line in the log.
  server.on("checkExpectation", onRequest);
  server.on("connect", (_request, socket) => refuseOn(socket, "405 Method Not Allowed", noTunnel));
  server.on("clientError", notHttp);
  // With those in their TLS handshake, which Node's own list does not have.
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  // Each request that waits behind another one on a connection listens for the connection's end.
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => void socket.setMaxListeners(0));
  server.listen({ host: settings.address, port: settings.port, exclusive: true });
  await once(server, "listening");
  // For example too many open files; the client's connection fails.
  server.on("error", () => {});
  const port = (server.address() as AddressInfo).port;

  const sweep = setInterval(
    () => {
      for (const exchange of exchanges) {
        const most = exchange.headReceived ? silence : firstByte;
        if (Date.now() - exchange.lastUpstreamByteAt > most) exchange.stop(silent(most));
        else if (Date.now() - exchange.call.at > total) exchange.stop(endless(total));
      }
    },
    Math.min(silence / 4, firstByte / 4, total / 4, 5000),
  ).unref();

  /** Resolves when all requests have ended, or after so many milliseconds. */
  async function empty(within: number): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      emptied = resolve;
    });
    if (exchanges.size > 0) await waitFor(ended, { timeout: within }).catch(() => {});
  }

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
      // The last bytes are still on their way.
      setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, 100);
      await closed;
    },
  };
}

const usualTotal = 3_600_000;
// Milliseconds for the lines of requests that were cut.
const lastLines = 2000;

const silent = (milliseconds: number): Refusal =>
  new Refusal(504, "upstream_timeout", `The agent has sent nothing for ${milliseconds / 1000} s.`);

const endless = (milliseconds: number): Refusal =>
  new Refusal(504, "answer_deadline", `The answer did not end within ${milliseconds / 1000} s.`);

/** By the code of Node's error. */
const unparsable: Record<string, [status: string, code: string]> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "headers_too_large"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "request_timeout"],
};

/** Bytes that are not HTTP get an error in OpenAI's shape, and have no line in the log. */
function notHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  // Nothing can be sent to a client that has not finished its TLS handshake.
  if (!/^(HPE_|ERR_HTTP_)/.test(error.code ?? "") || !socket.writable) return void socket.destroy();
  const [status, code] = unparsable[error.code ?? ""] ?? ["400 Bad Request", "invalid_http"];
  refuseOn(socket, status, new Refusal(400, code, "The request cannot be parsed."));
}

const noTunnel = new Refusal(405, "method_not_allowed", "The gateway is not an HTTP proxy: CONNECT is not supported.");

/** Refuses on the bare connection, where Node gives no response object. */
function refuseOn(socket: Duplex, status: string, refusal: Refusal): void {
  const body = refusal.body();
  socket.on("error", () => {});
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // The client may not hang up, and nothing else watches this connection.
  socket.resume();
  setTimeout(() => socket.destroy(), refusedTimeout).unref();
}

// Milliseconds.
const refusedTimeout = 1000;
