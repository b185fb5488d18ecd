import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { Duplex } from "node:stream";
import { waitFor } from "../async/wait.js";
import { Fault } from "../errors.js";
import type { Connection } from "./connection.js";

export interface HttpRequest {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface RemotePort {
  connection: Connection;
  port: number;
  open(): Promise<Duplex>;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** Comes as it is sent. Throws `connection-lost` when the SSH connection ended before it did. */
  body: AsyncIterable<Buffer>;
}

/** One request inside the SSH connection, on a stream of its own: no port is opened anywhere. */
export async function ask(to: RemotePort, { method, path, headers, body, signal }: HttpRequest): Promise<Reply> {
  signal.throwIfAborted();
  let stream: Duplex | undefined;
  try {
    stream = await waitFor(to.open(), { signal, drop: (late) => late.destroy() });
    const createConnection = () => stream as never;
    const length = body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };
    const sent = { Host: `127.0.0.1:${to.port}`, Connection: "close", ...length, ...headers };
    const answer = await responseTo({ method, path, signal, createConnection, headers: sent }, body);
    return { status: answer.statusCode ?? 0, headers: headersOf(answer), body: bodyOf(to, answer, signal) };
  } catch (error) {
    stream?.destroy();
    throw await explained(to, signal, error);
  }
}

/** Sends a request on the stream or pooled connection that its options give, and resolves with the head of the answer. */
export function responseTo(options: RequestOptions, body?: string): Promise<IncomingMessage> {
  return new Promise((done, failed) => {
    const sent = request(options);
    refuseEndlessInformation(sent, failed);
    sent.once("response", done).on("error", failed).end(body);
  });
}

/** The first request of a process takes Node about 10 ms, the next ones 1: send one to nowhere while the host connects. */
export function warmUp(): void {
  const nowhere = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const sent = request({ method: "POST", path: "/", createConnection: () => nowhere as never });
  sent.on("error", () => {});
  sent.once("response", (answer) => answer.resume().on("error", () => {}));
  sent.end("{}");
  nowhere.push("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  setTimeout(() => nowhere.destroy(), 20).unref();
}

// Informational answers (1xx) to one request: a server that only sends those never answers.
const maxInformational = 16;

const switchesProtocol = (): Fault =>
  new Fault("remote-failed", "it switched to another protocol, although no request asked for that (HTTP 101)");
const onlyInformation = (): Fault =>
  new Fault("remote-failed", `it sent ${maxInformational} informational answers (HTTP 1xx), and no answer`);

/**
 * Fails a request whose only answer is a 101, or endless 1xx: Node's client would wait for ever. To be called before any other
 * listener is added, because Node takes a 101 that names no protocol for a response.
 */
export function refuseEndlessInformation(sent: ClientRequest, failed: (error: Fault) => void): void {
  let count = 0;
  const refuse = (fault: Fault) => {
    failed(fault);
    sent.destroy();
  };
  sent.once("response", ({ statusCode }: IncomingMessage) => {
    if (statusCode === 101) refuse(switchesProtocol());
  });
  sent.once("upgrade", (_answer, socket) => {
    socket.destroy();
    failed(switchesProtocol());
  });
  sent.on("information", ({ statusCode }: { statusCode: number }) => {
    if (statusCode === 101) refuse(switchesProtocol());
    else if (++count > maxInformational) refuse(onlyInformation());
  });
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));

async function* bodyOf(to: RemotePort, answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* answer;
    if (await mayBeCut(answer, to.connection)) throw to.connection.lost();
  } catch (error) {
    throw await explained(to, signal, error);
  } finally {
    answer.destroy();
  }
}

/** Whether an ended answer may be cut: without length or chunks it looks whole. SSH's end shows a loop turn later. */
export async function mayBeCut({ headers }: IncomingMessage, ssh: Readonly<{ open: boolean }>): Promise<boolean> {
  if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) return false;
  await new Promise(setImmediate);
  return !ssh.open;
}

/** To HTTP, a server that hangs up and an SSH connection that ended look the same; SSH reports its end a moment later. */
async function explained({ connection, port }: RemotePort, signal: AbortSignal, error: unknown): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  await Promise.race([connection.closed, new Promise((resolve) => setTimeout(resolve, 50))]);
  if (!connection.open) return connection.lost();
  if (error instanceof Fault) return error;
  return new Fault("remote-failed", `port ${port} of ${connection.target.name} closed the connection`, {
    why: (error as Error).message,
    cause: error,
  });
}
