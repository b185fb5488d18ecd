import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import hermes from "../../../src/agents/hermes/chat/upstream-dialect.js";
import { Directory, type ServedAgent } from "../../../src/gateway/exchange/directory.js";
import type { GatewayParts } from "../../../src/gateway/exchange/gateway-parts.js";
import type { CallOutcome, GatewayCall, Tokens } from "../../../src/gateway/request/gateway-call.js";
import type { GatewayKey } from "../../../src/gateway/request/gateway-key.js";
import { Refusal } from "../../../src/gateway/request/refusal.js";
import { scopesWith } from "../../../src/gateway/request/session-scope.js";
import { type Gateway, openGateway, type ServerSettings } from "../../../src/gateway/server.js";
import { UpstreamPools } from "../../../src/gateway/upstream-pool/upstream-pools.js";
import { Secret } from "../../../src/secret.js";
import { manifestFailures } from "../agents/chat/forms.js";

const pepper = new Secret("0123456789abcdef".repeat(4));

export const bearer = "b".repeat(64);

export const keyOf = (more: Partial<GatewayKey> = {}): GatewayKey => ({
  ...{
    id: "aaaaaaaa",
    name: "laptop",
    hash: "",
    agents: ["*", "*/proxy"],
    role: "admin",
    created_at: "",
    signed: false,
    // The agent then gets exactly what the caller sent.
    all_sessions: true,
  },
  ...more,
});

export interface Upstream {
  port: number;
  sockets: Set<Socket>;
  asked: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[];
  close(): Promise<void>;
}

export type Responder = (response: ServerResponse, asked: { url: string; body: string }) => void;

/** A real server in the place of an agent. */
export async function upstream(answering: Responder): Promise<Upstream> {
  const asked: Upstream["asked"] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method = "", url = "", headers } = incoming;
    const body = Buffer.concat(chunks).toString();
    asked.push({ method, url, headers, body });
    answering(response, { url, body });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    asked,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export const completion = (content: string, more: object = {}): string =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
    ...more,
  });

export const says =
  (content: string): Responder =>
  (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(completion(content));
  };

export interface TestGateway extends Gateway {
  lines: { call: GatewayCall; ending: CallOutcome }[];
  settled: (Tokens | "released")[];
  /** Sees each line before it is written. */
  onWrite: (call: GatewayCall, ending: CallOutcome) => Promise<void> | void;
  found: number;
  /** Whether the connection to the host is there, as far as is known. */
  connected: boolean;
  opened(): (readonly [string, number])[];
}

export interface TestGatewayOptions {
  port?: number;
  proxyPort?: number;
  keys?: Record<string, GatewayKey>;
  agents?: ServedAgent[];
  parts?: Partial<GatewayParts>;
  settings?: Partial<ServerSettings>;
  bearerNow?: () => string;
  find?: () => Promise<void>;
  most?: number;
}

export const served = (more: Partial<ServedAgent> = {}): ServedAgent => ({
  host: "wolf-i",
  name: "ada",
  word: "ada",
  created: 1_700_000_000,
  model: "echo-1",
  dialect: hermes,
  signs: { ...manifestFailures, always: ["API call failed after"], withoutUsage: ["HTTP {status}: "] },
  streams: true,
  ...more,
});

/** A real gateway whose upstream connections are plain sockets. */
export async function door({
  port = 1,
  proxyPort = 1,
  keys = { good: keyOf() },
  agents = [served()],
  parts = {},
  settings = {},
  bearerNow = () => bearer,
  find = async () => {},
  most = 64,
}: TestGatewayOptions): Promise<TestGateway> {
  const lines: TestGateway["lines"] = [];
  const settled: TestGateway["settled"] = [];
  const self = { found: 0, connected: true, onWrite: (() => {}) as TestGateway["onWrite"] };
  const forward = async (to: number) => {
    const socket = connect(to, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const pools = new UpstreamPools({
    maxConnections: most,
    async connect({ proxy }) {
      self.found++;
      await find();
      const connection = {
        get open() {
          return self.connected;
        },
      };
      const to = proxy ? proxyPort : port;
      const way = { connection, port: to, open: () => forward(to) };
      return proxy ? way : { ...way, bearer: new Secret(bearerNow()) };
    },
  });
  const all: GatewayParts = {
    keyring: {
      whose(given) {
        const key = Object.hasOwn(keys, given ?? "") ? keys[given ?? ""] : undefined;
        if (!key) throw new Refusal(401, given ? "invalid_api_key" : "missing_api_key", "no");
        return key;
      },
      mustStillOpen() {},
      scopeOf: scopesWith(pepper),
    },
    mustBeSignable() {},
    signed: async () => {
      throw new Refusal(401, "signature_invalid", "no");
    },
    allowance: {
      count() {},
      reserve: async () => ({
        cost: () => ({ usd: 0.5 }),
        settle(tokens) {
          settled.push(tokens);
          return { usd: 0.5 };
        },
        release: () => void settled.push("released"),
      }),
    },
    log: {
      mustBeWritable() {},
      sent() {},
      async write(call, ending) {
        await self.onWrite(call, ending);
        lines.push({ call, ending });
      },
    },
    metrics: { began() {}, ended() {}, render: () => "clm_up 1\n" },
    fleet: () => new Directory(agents),
    upstreamPool: (place) => pools.poolFor(place),
    redact: (text) => text.replaceAll(bearer, "[secret]"),
    trouble(error) {
      throw error;
    },
    ...parts,
  };
  const gateway = await openGateway(all, {
    address: "127.0.0.1",
    port: 0,
    drain: 1000,
    silence: 60_000,
    logBodies: false,
    ...settings,
  });
  return Object.assign(self, {
    port: gateway.port,
    url: gateway.url,
    lines,
    settled,
    opened: () => [...pools.openConnections()],
    underWay: 0,
    async stop() {
      await gateway.stop();
      pools.close();
    },
  });
}

export interface TestRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  key?: string | undefined;
}

export interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  /** It came to its end. */
  whole: boolean;
}

/** Sends a request; returns the head of the answer, and its body as a stream. */
export async function begin(
  { port }: Gateway,
  path: string,
  { method, headers, body, key = "good" }: TestRequest = {},
) {
  const asked = request({
    port,
    host: "127.0.0.1",
    path,
    method: method ?? (body === undefined ? "GET" : "POST"),
    agent: false,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
  });
  // An answer may come before all was sent.
  asked.on("error", () => {});
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return { asked, answer };
}

export async function ask(gateway: Gateway, path: string, asked: TestRequest = {}): Promise<Answer> {
  const { answer } = await begin(gateway, path, asked);
  const chunks: Buffer[] = [];
  answer.on("data", (chunk) => chunks.push(chunk));
  await new Promise((resolve) => {
    answer.on("close", resolve);
    answer.on("error", () => {});
  });
  const { statusCode: status = 0, headers, complete: whole } = answer;
  return { status, headers, text: Buffer.concat(chunks).toString(), whole };
}

export const chat = (more: object = {}): string =>
  JSON.stringify({ model: "ada", messages: [{ role: "user", content: "hello you" }], ...more });

export const talk = (gateway: Gateway, asked: TestRequest & { path?: string } = {}): Promise<Answer> =>
  ask(gateway, asked.path ?? "/v1/chat/completions", { body: chat(), ...asked });
