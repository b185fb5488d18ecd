import { execFile } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import requests from "../../../../../src/agents/probe/proof/requests.sh?raw";

let server: Server;
let heard: Buffer[];
let connected: number;
let bytes: number;
let answer: (request: string, socket: Socket) => void;
beforeEach(async () => {
  heard = [];
  connected = 0;
  bytes = 0;
  answer = (request, socket) => {
    const isOpen = !request.includes("/models") || request.includes("Bearer the-key");
    socket.end(`HTTP/1.0 ${isOpen ? 200 : 401} x\r\n\r\n`);
  };
  server = createServer((socket) => {
    connected++;
    socket.on("error", () => {});
    // bash writes each line by itself: a request is whole when its head and its body are.
    let request = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      request = Buffer.concat([request, chunk]);
      const end = request.indexOf("\r\n\r\n");
      const length = Number(/^Content-Length: (\d+)\r$/m.exec(String(request))?.[1] ?? 0);
      if (end < 0 || request.length < end + 4 + length) return;
      heard.push(request);
      answer(String(request), socket);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => void server.close());

/** Runs requests.sh as a probe does, with the given result of the port check. */
function run(call: string, { ours = "yes", key = "the-key", look = "" } = {}): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const env = { PATH: process.env.PATH, port: String(port), health: "/health", models: "/models", chat_path: "/chat" };
  const body = { chat_body: JSON.stringify({ content: "ä" }) };
  return new Promise((done) => {
    const script = `probe_port() { ${look || ":"}; port_is_own=${ours}; }\n${requests}`;
    const child = execFile("bash", ["-c", script, "bash", call], { env: { LC_ALL: "C", ...env, ...body } }, (_, out) =>
      done(out),
    );
    child.stdin?.end(`${key}\n`);
  });
}

describe("an agent's answer", () => {
  it("is asked without a key, with a wrong one and with its own", async () => {
    expect(await run("ask_statuses")).toBe("port-probed=yes\nhealth=200\nnone=401\nwrong=401\nown=200\n");
  });

  it("is not asked with a key that is not there", async () => {
    expect(await run("ask_statuses", { key: "" })).toBe("port-probed=yes\nhealth=200\nnone=401\nwrong=401\n");
  });

  it("is empty when it hangs up or sends no HTTP", async () => {
    answer = (request, socket) => void (request.includes("/health") ? socket.destroy() : socket.end("200 OK\r\n"));
    expect(await run("ask_statuses")).toBe("port-probed=yes\nhealth=000\nnone=000\nwrong=000\nown=000\n");
  });

  it("is checked where nothing listens", async () => {
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    server = { address: () => ({ port }), close() {} } as unknown as Server;
    expect(await run("ask_statuses", { ours: "" })).toBe("port-probed=yes\n");
  });
});

describe("not a byte is sent", () => {
  it.each(["ask_statuses", "ask_chat"])("on a foreign process (%s)", async (call) => {
    await run(call, { ours: "no" });
    expect([connected > 0, bytes]).toEqual([true, 0]);
  });

  it.each(["ask_statuses", "ask_chat"])("before all connections were open and verified (%s)", async (call) => {
    const running = run(call, { look: "sleep 0.5" });
    await once(server, "connection");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = [connected, bytes];
    await running;
    expect([before, heard.length]).toEqual([[connected, 0], connected]);
  });
});

it("a question to the model is one request, and returns the whole answer", async () => {
  answer = (_request, socket) => void socket.end("HTTP/1.0 200 OK\r\nX: y\r\n\r\n{}");
  expect(await run("ask_chat")).toBe("HTTP/1.0 200 OK\r\nX: y\r\n\r\n{}");
  const [head, body] = String(Buffer.concat(heard)).split("\r\n\r\n");
  expect(head?.split("\r\n")).toEqual(
    expect.arrayContaining(["POST /chat HTTP/1.0", "Authorization: Bearer the-key", "Content-Length: 16"]),
  );
  expect(JSON.parse(body ?? "")).toEqual({ content: "ä" });
});
