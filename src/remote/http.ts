import { type IncomingMessage, request } from "node:http";
import { Duplex } from "node:stream";
import { Fault } from "../errors.js";
import { unlessStopped } from "../unless-stopped.js";
import type { Connection } from "./connection.js";

/** What is asked of a server on a host's own loopback. */
export interface Asking {
  method: "GET" | "POST";
  port: number;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** Comes as it is sent. Throws `connection-lost` when the road to the host ended before it did. */
  body: AsyncIterable<Buffer>;
}

/** Asks inside the SSH connection: no port is opened anywhere, and nobody between here and the host can listen. */
export async function ask(connection: Connection, asking: Asking): Promise<Reply> {
  asking.signal.throwIfAborted();
  let road: Duplex | undefined;
  try {
    road = await roadTo(connection, asking);
    const answer = await firstOf(road, asking);
    return { status: answer.statusCode ?? 0, headers: headersOf(answer), body: bodyOf(connection, answer, asking) };
  } catch (error) {
    road?.destroy();
    throw await told(connection, asking, error);
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
function roadTo(connection: Connection, { port, signal }: Asking): Promise<Duplex> {
  const coming = connection.forward(port);
  return unlessStopped(coming, signal).catch((error) => {
    coming.then(
      (road) => road.destroy(),
      () => {},
    );
    throw error;
  });
}

function firstOf(road: Duplex, { method, port, path, headers = {}, body, signal }: Asking): Promise<IncomingMessage> {
  return new Promise((answered, failed) => {
    const asked = request({
      ...{ method, path, signal, createConnection: () => road as never },
      // Each has a road of its own, which ends with it.
      headers: { Host: `127.0.0.1:${port}`, Connection: "close", ...lengthOf(body), ...headers },
    });
    asked.once("response", answered);
    asked.once("error", failed);
    asked.end(body);
  });
}

const lengthOf = (body: string | undefined): Record<string, number> =>
  body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) };

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));

async function* bodyOf(connection: Connection, answer: IncomingMessage, asking: Asking): AsyncGenerator<Buffer> {
  try {
    yield* answer;
    // A body that only the end of its road ends looks whole wherever that was cut; that the connection ended is known by now.
    if (!endsItself(answer)) await new Promise(setImmediate);
    if (!connection.open && !endsItself(answer)) throw connection.lost();
  } catch (error) {
    throw await told(connection, asking, error);
  } finally {
    answer.destroy();
  }
}

/** Its length was told, or its last chunk says that it is one. */
export const endsItself = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

/** A server that hangs up and a road that ended look the same to HTTP; the road knows a moment later. */
async function told(connection: Connection, { signal, port }: Asking, error: unknown): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  await Promise.race([connection.closed, new Promise((resolve) => setTimeout(resolve, 50))]);
  if (!connection.open) return connection.lost();
  if (error instanceof Fault) return error;
  return new Fault("remote-failed", `port ${port} of ${connection.target.name} broke off`, {
    why: (error as Error).message,
    cause: error,
  });
}
