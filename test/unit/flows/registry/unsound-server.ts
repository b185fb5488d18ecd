import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The ways a web server can get an installer wrong, and the right one. */
export const ways = {
  right: (response, bytes) => response.writeHead(200, { "content-length": bytes.length }).end(bytes),
  "right, without a length": (response, bytes) => response.writeHead(200).end(bytes),
  "in small pieces": async (response, bytes) => {
    response.writeHead(200);
    for (let at = 0; at < bytes.length; at += 7) {
      response.write(bytes.subarray(at, at + 7));
      await new Promise(setImmediate);
    }
    response.end();
  },
  "a flipped bit": (response, bytes) => {
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(20) ^ 1, 20);
    response.writeHead(200).end(flipped);
  },
  "cut short, and says so": (response, bytes) =>
    response.writeHead(200, { "content-length": bytes.length - 5 }).end(bytes.subarray(0, -5)),
  "cut short, and says it is whole": (response, bytes) => {
    response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, -5));
    setImmediate(() => response.socket?.end());
  },
  "cut short, without a length": (response, bytes) => response.writeHead(200).end(bytes.subarray(0, -5)),
  "one byte too many": (response, bytes) => response.writeHead(200).end(Buffer.concat([bytes, Buffer.from("x")])),
  "no end": (response, bytes) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write(bytes));
    };
    response.on("drain", more);
    more();
  },
  "a web page": (response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<!DOCTYPE html>\n<html><body>Sign in</body></html>"),
  empty: (response) => response.writeHead(200).end(),
  "302 to the right bytes": (response) => response.writeHead(302, { location: "/right" }).end(),
  "301 to elsewhere": (response) => response.writeHead(301, { location: "http://192.0.2.1/x" }).end(),
  "304": (response) => response.writeHead(304).end(),
  "reset in the middle": (response, bytes) => {
    response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 30));
    setImmediate(() => response.socket?.resetAndDestroy());
  },
  "stops in the middle": (response, bytes) => response.writeHead(200).write(bytes.subarray(0, 30)),
  "ever slower than the patience": (response, bytes) => {
    response.writeHead(200);
    let at = 0;
    const timer = setInterval(() => response.write(bytes.subarray(at, ++at)), 20);
    response.on("close", () => clearInterval(timer));
  },
  "no answer": () => {},
  "hangs up": (response) => response.socket?.destroy(),
  "404": (response) => response.writeHead(404).end("not here"),
  "500 with the right bytes": (response, bytes) => response.writeHead(500).end(bytes),
  "206 with the right bytes": (response, bytes) => response.writeHead(206).end(bytes),
} satisfies Record<string, (response: ServerResponse, bytes: Buffer) => unknown>;

export type Way = keyof typeof ways;

export interface Unsound {
  url(way: Way): string;
  /** What was asked for, in order. */
  asked: string[];
  close(): Promise<void>;
}

export async function unsoundServer(bytes: Buffer): Promise<Unsound> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    const way = decodeURIComponent((request.url ?? "").slice(1)) as Way;
    asked.push(way);
    ways[way](response, bytes);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    url: (way) => `http://127.0.0.1:${port}/${encodeURIComponent(way)}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
