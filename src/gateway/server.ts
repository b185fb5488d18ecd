import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { answer } from "./answering.js";
import { Exchange } from "./exchange.js";
import { modelsOf } from "./models.js";
import type { Parts } from "./parts.js";
import { Refusal, shuttingDown } from "./refusal.js";

export interface ServerSettings {
  address: string;
  /** 0 for any that is free. */
  port: number;
  tls?: { cert: Buffer; key: Buffer };
  /** Milliseconds that requests may go on when it is to stop. */
  drain: number;
  /** Milliseconds an agent may say nothing in the middle of an answer. */
  silence: number;
  logBodies: boolean;
}

export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Takes nothing new, lets what is under way come to its end, and cuts what does not. Resolves when every line is written. */
  stop(): Promise<void>;
}

// Milliseconds. Who opens a connection must say what they want; how long an answer takes is another matter.
const timeouts = {
  headersTimeout: 15_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
};

/** The door: listens, and answers each request by what its parts say. */
export async function openGateway(parts: Parts, settings: ServerSettings): Promise<Gateway> {
  const exchanges = new Set<Exchange>();
  const models = modelsOf(parts);
  let stopping = false;
  let emptied = () => {};

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = new Exchange(parts, request, response);
    exchanges.add(exchange);
    if (stopping) response.shouldKeepAlive = false;
    try {
      if (stopping) throw shuttingDown();
      await answer(exchange, models, settings.logBodies);
    } catch (error) {
      await exchange.refuse(exchange.signal.aborted ? exchange.signal.reason : error);
    } finally {
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

  const { tls, silence, drain } = settings;
  const server = tls ? createTlsServer({ ...timeouts, ...tls }, onRequest) : createServer(timeouts, onRequest);
  // A body that would be refused is not asked for.
  server.on("checkContinue", onRequest);
  server.on("clientError", notHttp);
  await listen(server, settings);
  const port = (server.address() as AddressInfo).port;

  const sweep = setInterval(
    () => {
      for (const exchange of exchanges) if (Date.now() - exchange.heard > silence) exchange.stop(silent(silence));
    },
    Math.min(silence / 4, 5000),
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
      setTimeout(() => server.closeAllConnections(), 100);
      await closed;
    },
  };
}

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

/** What is not HTTP is no request: it is told so, in the shape that callers know, and has no line. */
function notHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, code] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "headers_too_large"]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "request_timeout"]
        : ["400 Bad Request", "invalid_http"];
  const body = new Refusal(400, code as string, "This is not a request that can be read.").body();
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
