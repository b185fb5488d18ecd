import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { Duplex } from "node:stream";
import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";
import type { Connection } from "./connection.js";

/** What is asked of a server on a host's own loopback. */
export interface HttpRequest {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** A port of a host, and how a connection to it is made. */
export interface RemotePort {
  connection: Connection;
  port: number;
  open(): Promise<Duplex>;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** Comes as it is sent. Throws `connection-lost` when the road to the host ended before it did. */
  body: AsyncIterable<Buffer>;
}

/** Asks inside the SSH connection: no port is opened anywhere, and nobody between here and the host can listen. */
export async function ask(to: RemotePort, asking: HttpRequest): Promise<Reply> {
  asking.signal.throwIfAborted();
  let road: Duplex | undefined;
  try {
    road = await openSocket(to, asking);
    const answer = await sendRequest(road, to, asking);
    return { status: answer.statusCode ?? 0, headers: headersOf(answer), body: bodyOf(to, answer, asking) };
  } catch (error) {
    road?.destroy();
    throw await explained(to, asking, error);
  }
}

/**
 * The first request of a process takes Node about 10 ms to make, and the next ones 1. Whoever waits for a host anyway makes
 * one that goes nowhere meanwhile.
 */
export function warmUp(): void {
  const nowhere = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const asked = request({ method: "POST", path: "/", createConnection: () => nowhere as never });
  asked.on("error", () => {});
  asked.once("response", (answer) => answer.resume().on("error", () => {}));
  asked.end("{}");
  nowhere.push("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  setTimeout(() => nowhere.destroy(), 20).unref();
}

/** Nobody who wants to stop waits for a host that does not answer; a road that comes too late is closed again. */
function openSocket(to: RemotePort, { signal }: HttpRequest): Promise<Duplex> {
  return waitFor(to.open(), { signal, drop: (late) => late.destroy() });
}

// Answers in advance (1xx) that one request may get: a server that only sends those never answers.
const maxInformational = 16;

const switchesProtocol = (): Fault =>
  new Fault("remote-failed", "it switched to another protocol, which nobody asked it to (HTTP 101)");
const onlyInformation = (): Fault =>
  new Fault("remote-failed", `it sent ${maxInformational} answers in advance (HTTP 1xx), and no answer`);

/**
 * Fails a request that gets no answer but a 101, or no end of 1xx: Node's client would wait for ever. To be called before
 * anybody listens for the answer; a 101 that names no protocol is one, to Node.
 */
export function refuseEndlessInformation(asked: ClientRequest, failed: (error: Fault) => void): void {
  let count = 0;
  asked.once("response", (answer: IncomingMessage) => {
    if (answer.statusCode !== 101) return;
    failed(switchesProtocol());
    asked.destroy();
  });
  asked.once("upgrade", (_answer, socket) => {
    socket.destroy();
    failed(switchesProtocol());
  });
  asked.on("information", ({ statusCode }: { statusCode: number }) => {
    if (statusCode !== 101 && ++count <= maxInformational) return;
    failed(statusCode === 101 ? switchesProtocol() : onlyInformation());
    asked.destroy();
  });
}

function sendRequest(
  road: Duplex,
  { port }: RemotePort,
  { method, path, headers = {}, body, signal }: HttpRequest,
): Promise<IncomingMessage> {
  return new Promise((answered, failed) => {
    const asked = request({
      ...{ method, path, signal, createConnection: () => road as never },
      // Each has a road of its own, which ends with it.
      headers: { Host: `127.0.0.1:${port}`, Connection: "close", ...lengthOf(body), ...headers },
    });
    refuseEndlessInformation(asked, failed);
    asked.once("response", answered);
    asked.on("error", failed);
    asked.end(body);
  });
}

const lengthOf = (body: string | undefined): Record<string, number> =>
  body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));

async function* bodyOf(to: RemotePort, answer: IncomingMessage, asking: HttpRequest): AsyncGenerator<Buffer> {
  const { connection } = to;
  try {
    yield* answer;
    // A body that only the end of its road ends looks whole wherever that was cut; that the connection ended is known by now.
    if (!endsItself(answer)) await new Promise(setImmediate);
    if (!connection.open && !endsItself(answer)) throw connection.lost();
  } catch (error) {
    throw await explained(to, asking, error);
  } finally {
    answer.destroy();
  }
}

/** Its length was told, or its last chunk says that it is one. */
export const endsItself = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

/** A server that hangs up and a road that ended look the same to HTTP; the road knows a moment later. */
async function explained({ connection, port }: RemotePort, { signal }: HttpRequest, error: unknown): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  await Promise.race([connection.closed, new Promise((resolve) => setTimeout(resolve, 50))]);
  if (!connection.open) return connection.lost();
  if (error instanceof Fault) return error;
  return new Fault("remote-failed", `port ${port} of ${connection.target.name} broke off`, {
    why: (error as Error).message,
    cause: error,
  });
}
