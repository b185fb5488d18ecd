import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { Fault } from "../errors.js";
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
  const road = await connection.forward(asking.port);
  try {
    const answer = await firstOf(road, asking);
    return { status: answer.statusCode ?? 0, headers: headersOf(answer), body: bodyOf(connection, answer, asking) };
  } catch (error) {
    road.destroy();
    throw await told(connection, asking, error);
  }
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
  } catch (error) {
    throw await told(connection, asking, error);
  } finally {
    answer.destroy();
  }
}

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
