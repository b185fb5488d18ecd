import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { EventSplitter, parseEvent } from "../../../src/agents/chat/events.js";
import { Directory } from "../../../src/gateway/exchange/directory.js";
import type { GatewayParts } from "../../../src/gateway/exchange/gateway-parts.js";
import { Refusal } from "../../../src/gateway/request/refusal.js";
import { betweens } from "./between.js";
import {
  ask,
  bearer,
  begin,
  chat,
  completion,
  door,
  keyOf,
  type Responder,
  says,
  served,
  talk,
} from "./test-gateway.js";

const { between, open } = betweens();

const errorOf = (text: string) => JSON.parse(text).error;

describe("refused before anything is passed on", () => {
  const read = keyOf({ role: "read" });
  const narrow = keyOf({ agents: ["ben"] });
  const cases: [what: string, path: string, asked: Parameters<typeof ask>[2], status: number, error: object][] = [
    ["a path that is none", "/v2/x", {}, 404, { code: "unknown_path", type: "invalid_request_error", param: null }],
    ["another method", "/v1/chat/completions", {}, 405, { code: "method_not_allowed", param: null }],
    ["a question without rights", "/v1/models", { method: "OPTIONS" }, 405, { code: "method_not_allowed" }],
    ["nobody", "/v1/models", { key: "" }, 401, { code: "missing_api_key", type: "authentication_error" }],
    ["a stranger", "/v1/models", { key: "x" }, 401, { code: "invalid_api_key", message: "no" }],
    ["a wrong signature", "/v1/models", { headers: { "x-clm-signature": "v1=0" } }, 401, { code: "signature_invalid" }],
    [
      "a role that may not talk",
      "/v1/chat/completions",
      { key: "read", body: chat() },
      403,
      { code: "role_not_allowed" },
    ],
    [
      "what is not JSON",
      "/v1/chat/completions",
      { body: "{" },
      400,
      { code: "invalid_json", message: "The body is not JSON." },
    ],
    ["what is no object", "/v1/chat/completions", { body: "[]" }, 400, { code: "invalid_json" }],
    ["no body at all", "/v1/chat/completions", { method: "POST" }, 400, { code: "invalid_json" }],
    ["no model", "/v1/chat/completions", { body: "{}" }, 400, { code: "missing_model", param: "model" }],
    [
      "an agent that is none",
      "/v1/chat/completions",
      { body: chat({ model: "eve" }) },
      404,
      { code: "model_not_found", param: "model" },
    ],
    ["an agent of others", "/v1/chat/completions", { key: "narrow", body: chat() }, 404, { code: "model_not_found" }],
    ["a path that agents have not", "/v1/embeddings", { body: chat() }, 404, { code: "not_supported_by_target" }],
    [
      "a body that is too large",
      "/v1/chat/completions",
      { body: Buffer.alloc(10_000_001, 32) },
      413,
      { code: "body_too_large" },
    ],
    [
      "one whose length nobody told",
      "/v1/chat/completions",
      { body: Buffer.alloc(10_000_001, 32), headers: { "transfer-encoding": "chunked" } },
      413,
      { code: "body_too_large" },
    ],
  ];
  it.each(cases)("%s", async (_what, path, asked, status, error) => {
    const { up, gateway } = await between(says("hi"), { keys: { good: keyOf(), read, narrow } });
    const answer = await ask(gateway, path, asked);
    expect([answer.status, errorOf(answer.text)]).toEqual([status, expect.objectContaining(error)]);
    expect(Object.keys(errorOf(answer.text))).toEqual(["message", "type", "param", "code"]);
    expect(answer.headers["x-request-id"]).toMatch(/^req_[0-9a-f]{32}$/);
    expect(answer.headers["content-type"]).toBe("application/json");
    if (status === 405) expect(answer.headers.allow).toBe(path === "/v1/models" ? "GET, HEAD" : "POST");
    expect(up.asked).toEqual([]);
    expect(gateway.lines).toMatchObject([
      { call: { id: answer.headers["x-request-id"] }, ending: { status, code: errorOf(answer.text).code } },
    ]);
  });

  it("gives the same answer for an unknown agent and a forbidden one", async () => {
    const { gateway } = await between(says("hi"), { keys: { good: narrow } });
    const there = await talk(gateway);
    const not = await talk(gateway, { body: chat({ model: "eve" }) });
    expect(there.text.replaceAll("ada", "eve")).toBe(not.text);
  });

  it("does not repeat a key that was sent as a model name", async () => {
    const { gateway } = await between(says("hi"));
    const { text } = await talk(gateway, { body: chat({ model: "clm_abcdefgh_xyz" }) });
    expect(text).not.toContain("clm_abcdefgh");
  });

  it("an exhausted allowance, with its own message", async () => {
    const { up, gateway } = await between(says("hi"), {
      parts: {
        allowance: {
          count() {},
          reserve: async () => {
            throw new Refusal(429, "rate_limit_exceeded", "slower", { retryAfter: 7 });
          },
        },
      },
    });
    const { status, headers, text } = await talk(gateway);
    expect([status, headers["retry-after"], text]).toEqual([
      429,
      "7",
      `{"error":{"message":"slower","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`,
    ]);
    expect(up.asked).toEqual([]);
  });

  it("an unreachable agent, and further requests at once", async () => {
    let tries = 0;
    const gateway = await door({
      find: async () => {
        tries++;
        throw new Refusal(503, "host_unreachable", "cannot reach wolf-i", { retryAfter: 1 });
      },
    });
    open.push(gateway);
    const answers = await Promise.all([talk(gateway), talk(gateway), talk(gateway)]);
    expect(answers.map(({ status, text }) => [status, errorOf(text).code])).toEqual(
      Array(3).fill([503, "host_unreachable"]),
    );
    await talk(gateway);
    expect(tries).toBe(1);
    expect(gateway.settled).toEqual(Array(4).fill("released"));
  });

  it("everything while the log cannot be written; it keeps trying and counts missed lines", async () => {
    let missed = 0;
    const told: unknown[] = [];
    const full = () => new Refusal(503, "audit_unavailable", "full", { cause: new Error("ENOSPC, /root/x") });
    const { up, gateway } = await between(says("hi"), {
      parts: {
        log: {
          mustBeWritable() {
            throw full();
          },
          sent() {},
          write: async () => {
            missed++;
            throw full();
          },
        },
        trouble: (error) => told.push(error),
      },
    });
    const answers = [await talk(gateway), await ask(gateway, "/health", { key: "" })];
    expect(answers.map(({ status, text }) => [status, errorOf(text).message])).toEqual(Array(2).fill([503, "full"]));
    // A probe has no line that could be missed.
    expect([up.asked, missed]).toEqual([[], 1]);
    // The operator is told once, with the cause.
    expect(told).toMatchObject([{ cause: { message: "ENOSPC, /root/x" } }]);
  });

  const raw: [what: string, text: string, status: string, code: string][] = [
    ["what is not HTTP", "HELO there", "400 Bad Request", "invalid_http"],
    ["what names no host", "GET /v1/models HTTP/1.1\r\nconnection: close", "400 Bad Request", "missing_host"],
    ["who wants a tunnel", "CONNECT x:1 HTTP/1.1\r\nhost: x:1", "405 Method Not Allowed", "method_not_allowed"],
  ];
  it.each(raw)("%s, in the same shape", async (_what, text, status, code) => {
    const { gateway } = await between(says("hi"));
    const socket = connect(gateway.port, "127.0.0.1");
    socket.end(`${text}\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    const [head = "", body = ""] = Buffer.concat(chunks).toString().split("\r\n\r\n");
    expect([head.split("\r\n")[0], errorOf(body).code]).toEqual([`HTTP/1.1 ${status}`, code]);
  });

  const unread: [what: string, headers: Record<string, string>, code: string][] = [
    ["nobody", { authorization: "" }, "missing_api_key"],
    ["a stranger", { authorization: "Bearer x" }, "invalid_api_key"],
    ["a role that may not", { authorization: "Bearer read" }, "role_not_allowed"],
    ["a key that nobody has, which is said to have signed", { "x-clm-signature": "v1=0" }, "signature_invalid"],
  ];
  it.each(unread)("%s, before their body has come", async (_what, headers, code) => {
    const { gateway } = await between(says("hi"), {
      keys: { read },
      parts: {
        mustBeSignable() {
          throw new Refusal(401, "signature_invalid", "no");
        },
      },
    });
    const asked = request({
      port: gateway.port,
      host: "127.0.0.1",
      path: "/v1/chat/completions",
      method: "POST",
      agent: false,
      headers: { "content-length": "1000", ...headers },
    });
    asked.on("error", () => {});
    asked.flushHeaders();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    expect(errorOf(Buffer.concat(chunks).toString()).code).toBe(code);
    asked.destroy();
  });

  describe("a key that is revoked while its request waits", () => {
    const revoked = () => new Refusal(401, "revoked_api_key", "no");

    it("for its allowance", async () => {
      let isOpen = true;
      const { up, gateway } = await between(says("hi"), {
        parts: {
          keyring: {
            whose: () => keyOf(),
            scopeOf: () => undefined,
            mustStillOpen() {
              if (!isOpen) throw revoked();
            },
          },
          allowance: {
            count() {},
            async reserve() {
              isOpen = false;
              return { cost: () => ({}), settle: () => ({}), release() {} };
            },
          },
        },
      });
      expect(errorOf((await talk(gateway)).text).code).toBe("revoked_api_key");
      expect(up.asked).toEqual([]);
      // The connection that was meant for it is there for others.
      isOpen = true;
      expect(gateway.opened()).toEqual([["wolf-i", 1]]);
    });

    it("for a connection, which others get then", async () => {
      let open = 2;
      const answers: (() => void)[] = [];
      let first = () => {};
      const reached = new Promise<void>((done) => {
        first = done;
      });
      const { up, gateway } = await between(
        (response) => {
          answers.push(() => says("hi")(response, { url: "", body: "" }));
          first();
        },
        {
          most: 1,
          parts: {
            keyring: {
              whose: () => keyOf(),
              scopeOf: () => undefined,
              mustStillOpen() {
                if (--open === 0) throw revoked();
              },
            },
          },
        },
      );
      const under = talk(gateway);
      await reached;
      const waits = talk(gateway);
      answers.shift()?.();
      expect([(await under).status, errorOf((await waits).text).code]).toEqual([200, "revoked_api_key"]);
      const next = talk(gateway);
      while (answers.length === 0) await new Promise(setImmediate);
      answers.shift()?.();
      expect([(await next).status, up.asked.length, up.sockets.size]).toEqual([200, 2, 1]);
    });
  });
});

describe("answers of the gateway itself", () => {
  it("log requests with a key or to the API, and no probes", async () => {
    const { gateway } = await between(says("hi"));
    const cases: [path: string, key: string, lines: number][] = [
      ["/health", "", 0],
      ["/health", "good", 0],
      ["/favicon.ico", "", 0],
      ["/favicon.ico", "x", 1],
      ["/metrics", "", 1],
      ["/v1/nothing", "", 1],
      ["/v1", "", 1],
    ];
    for (const [path, key, lines] of cases) {
      await ask(gateway, path, { key });
      expect([path, key, gateway.lines.splice(0).length]).toEqual([path, key, lines]);
    }
  });

  it("metrics as far as a key may see them", async () => {
    const views: unknown[] = [];
    const metrics: GatewayParts["metrics"] = {
      began() {},
      ended() {},
      render(view) {
        views.push(view && [view.key, ["wolf-i/ada", "wolf-i/ada/proxy", "wolf-j/ben"].map(view.target)]);
        return "";
      },
    };
    const keys = { good: keyOf(), read: keyOf({ role: "read", name: "grafana", agents: ["wolf-i/*", "ada/proxy"] }) };
    const { gateway } = await between(says("hi"), { keys, parts: { metrics } });
    await ask(gateway, "/metrics");
    await ask(gateway, "/metrics", { key: "read" });
    expect(views).toEqual([undefined, ["grafana", [true, true, false]]]);
  });

  it("answer HEAD like GET, without a body", async () => {
    const { gateway } = await between(says("hi"));
    const { status, text } = await ask(gateway, "/health", { method: "HEAD", key: "" });
    expect([status, text]).toEqual([200, ""]);
  });

  it("health without a key, metrics with the right to them", async () => {
    const { gateway } = await between(says("hi"), { keys: { good: keyOf(), chat: keyOf({ role: "chat" }) } });
    expect(await ask(gateway, "/health?x=1", { key: "" })).toMatchObject({ status: 200, text: `{"status":"ok"}` });
    expect(await ask(gateway, "/metrics")).toMatchObject({ status: 200, text: "clm_up 1\n" });
    expect((await ask(gateway, "/metrics", { key: "chat" })).status).toBe(403);
  });

  it("the models that a key may use, with what their proxies have", async () => {
    const agents = [
      served({ proxy: { provider: "nous", paths: ["/v1/embeddings"], maxBodyBytes: 1_048_576 } }),
      served({ host: "wolf-i", name: "ben", word: "wolf-i/ben" }),
      served({ host: "wolf-j", name: "ben", word: "wolf-j/ben" }),
    ];
    let lists = 0;
    const { gateway } = await between(
      (response) => {
        lists++;
        response.end(JSON.stringify({ data: [{ id: "hermes/4" }] }));
      },
      { agents, keys: { good: keyOf({ agents: ["ada", "ada/proxy", "wolf-j/*"] }) } },
    );
    const { text } = await ask(gateway, "/v1/models");
    expect(JSON.parse(text)).toEqual({
      object: "list",
      data: ["ada", "ada/proxy/hermes/4", "wolf-j/ben"].map((id) => ({
        id,
        object: "model",
        created: 1_700_000_000,
        owned_by: "clm",
      })),
    });
    const one = async (id: string) => (await ask(gateway, `/v1/models/${id}`)).status;
    expect(await Promise.all(["ada", "wolf-i%2Fada", "ada/proxy/hermes/4", "wolf-j/ben"].map(one))).toEqual(
      Array(4).fill(200),
    );
    expect(await Promise.all(["wolf-i/ben", "ben", "ada/proxy/x", "%E0"].map(one))).toEqual(Array(4).fill(404));
    expect(lists).toBe(1);
  });

  it.each<[string, Responder]>([
    ["does not answer", (response) => void response.destroy()],
    ["lists too much", says(JSON.stringify({ data: [{ id: "x".repeat(1 << 20) }] }))],
  ])("leaves out a proxy that %s", async (_, responder) => {
    const agents = [served({ proxy: { provider: "nous", paths: [], maxBodyBytes: 1 } })];
    const { gateway } = await between(responder, { agents });
    const { status, text } = await ask(gateway, "/v1/models");
    expect([status, JSON.parse(text).data.map(({ id }: { id: string }) => id)]).toEqual([200, ["ada"]]);
  });
});

describe("passed requests", () => {
  it("the body byte for byte, with the agent's key and no other", async () => {
    const { up, gateway } = await between((response) => {
      response.writeHead(200, {
        "content-type": "application/json; charset=utf-8",
        "set-cookie": "a=b",
        "x-hermes-session-id": "api-1",
        "www-authenticate": "Bearer",
        server: "aiohttp",
      });
      response.end(completion("hi"));
    });
    const body = `{ "model":"wolf-i/ada", "n": 12345678901234567890, "messages":[{"role":"user","content":"Grüße"}] }`;
    const headers = {
      origin: "https://evil.example",
      cookie: "c=d",
      "x-hermes-session-key": "k",
      "idempotency-key": "i",
    };
    const answer = await talk(gateway, { body, headers });
    expect(answer).toMatchObject({ status: 200, text: completion("hi") });
    expect(up.asked).toEqual([
      {
        method: "POST",
        url: "/v1/chat/completions",
        body,
        headers: {
          host: `127.0.0.1:${up.port}`,
          "content-length": String(Buffer.byteLength(body)),
          "content-type": "application/json",
          "idempotency-key": "i",
          "x-hermes-session-key": "k",
          authorization: `Bearer ${bearer}`,
          connection: "keep-alive",
        },
      },
    ]);
    expect(Object.keys(answer.headers).sort()).toEqual(
      ["connection", "content-length", "content-type", "date", "x-hermes-session-id", "x-request-id"].sort(),
    );
    expect(gateway.settled).toEqual([{ input: 7, output: 5 }]);
    expect(gateway.lines).toMatchObject([
      {
        call: { target: "wolf-i/ada", model: "wolf-i/ada", key: { id: "aaaaaaaa" }, from: "127.0.0.1" },
        ending: { status: 200, tokens: { input: 7, output: 5 }, usd: 0.5 },
      },
    ]);
  });

  it("a large body whole, on a connection that is used again", async () => {
    const { up, gateway } = await between(says("hi"));
    const body = chat({
      messages: [{ role: "user", content: [{ image_url: { url: `data:image/png;base64,${"A".repeat(9_000_000)}` } }] }],
    });
    expect((await talk(gateway, { body })).status).toBe(200);
    expect(up.asked[0]?.body === body).toBe(true);
    for (let n = 0; n < 5; n++) expect((await talk(gateway)).status).toBe(200);
    expect([up.sockets.size, gateway.found]).toEqual([1, 1]);
  });

  it("to a proxy under the model's own name, without a key, as far as it reads", async () => {
    const agents = [served({ proxy: { provider: "nous", paths: ["/v1/embeddings"], maxBodyBytes: 100 } })];
    const { up, gateway } = await between(
      (response) => response.end(`{"data":[],"usage":{"prompt_tokens":3,"total_tokens":3}}`),
      { agents },
    );
    const body = JSON.stringify({ model: "ada/proxy/vendor/emb", input: "x" });
    expect((await ask(gateway, "/v1/embeddings", { body })).status).toBe(200);
    expect(JSON.parse(up.asked[0]?.body ?? "")).toEqual({ model: "vendor/emb", input: "x" });
    expect(up.asked[0]?.headers.authorization).toBeUndefined();
    expect(gateway.lines[0]).toMatchObject({
      call: { target: "wolf-i/ada/proxy" },
      ending: { tokens: { input: 3, output: 0 } },
    });
    const long = JSON.stringify({ model: "ada/proxy/vendor/emb", input: "x".repeat(100) });
    expect((await ask(gateway, "/v1/embeddings", { body: long })).status).toBe(413);
    expect((await talk(gateway, { body: chat({ model: "ada/proxy/vendor/emb" }) })).status).toBe(404);
    expect(up.asked).toHaveLength(1);
  });

  it("estimates usage by length when the agent reports none", async () => {
    const { gateway } = await between((response) =>
      response.end(completion("x".repeat(40), { usage: { prompt_tokens: 0, completion_tokens: 0 } })),
    );
    await talk(gateway);
    expect(gateway.settled).toEqual([{ input: 4, output: 10, estimated: true }]);
  });

  it("sees at the next request that the fleet is another", async () => {
    let agents = [served()];
    const { gateway } = await between(says("hi"), { parts: { fleet: async () => new Directory(agents) } });
    expect((await talk(gateway)).status).toBe(200);
    agents = [];
    expect((await talk(gateway)).status).toBe(404);
  });

  it("to where an agent is now, with the key that it has now", async () => {
    let mark = "a";
    let now = bearer;
    const { up, gateway } = await between(says("hi"), {
      bearerNow: () => now,
      parts: { fleet: () => new Directory([served({ mark })]) },
    });
    await talk(gateway);
    now = "c".repeat(64);
    await talk(gateway);
    mark = "b";
    await talk(gateway);
    expect(up.asked.map(({ headers }) => headers.authorization)).toEqual(
      [bearer, bearer, now].map((key) => `Bearer ${key}`),
    );
    expect(gateway.found).toBe(2);
  });

  it("nothing to where an agent was before its request had to wait", async () => {
    let mark = "a";
    const { up, gateway } = await between(says("hi"), {
      find: async () => {
        // The record is changed during the look.
        mark = "b";
      },
      parts: { fleet: () => new Directory([served({ mark })]) },
    });
    expect((await talk(gateway)).status).toBe(200);
    expect([gateway.found, up.asked.length]).toEqual([2, 1]);
  });

  it("looks again when the agent does not take its key any more", async () => {
    let now = "c".repeat(64);
    const { up, gateway } = await between(
      (response) => {
        const { authorization } = up.asked.at(-1)?.headers ?? {};
        if (authorization === `Bearer ${bearer}`) return says("hi")(response, { url: "", body: "" });
        response.writeHead(401, { "content-type": "application/json" });
        response.end(`{"error":{"message":"Invalid API key"}}`);
      },
      { bearerNow: () => now },
    );
    expect(errorOf((await talk(gateway)).text).code).toBe("agent_refused_key");
    now = bearer;
    expect([(await talk(gateway)).status, gateway.found]).toEqual([200, 2]);
  });

  it("closes a connection whose request cannot be parsed", async () => {
    const told: unknown[] = [];
    let now = "no\nheader";
    let mark = "a";
    const { gateway } = await between(says("hi"), {
      most: 1,
      bearerNow: () => now,
      parts: { trouble: (error) => told.push(error), fleet: () => new Directory([served({ mark })]) },
    });
    expect([(await talk(gateway)).status, told.length]).toEqual([500, 1]);
    now = bearer;
    mark = "b";
    expect((await talk(gateway)).status).toBe(200);
  });

  it("no more connections than it may, and all get their answer in turn", async () => {
    const { up, gateway } = await between(
      (response) => void setImmediate(() => says("hi")(response, { url: "", body: "" })),
      {
        most: 2,
      },
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => talk(gateway)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect([up.asked.length, up.sockets.size, gateway.opened()]).toEqual([20, 2, [["wolf-i", 2]]]);
  });
});

describe("the request to the agent", () => {
  it("is JSON to it as well, whatever charset the caller names", async () => {
    const { up, gateway } = await between(says("hi"));
    const headers = { "content-type": "application/json; charset=utf-7" };
    expect((await talk(gateway, { headers })).status).toBe(200);
    expect(up.asked[0]?.headers["content-type"]).toBe("application/json");
  });

  it("names only the provider that is priced", async () => {
    const { up, gateway } = await between(says("hi"));
    await talk(gateway, { body: chat({ provider: "openrouter", model_options: { a: 1 }, temperature: 1 }) });
    expect(JSON.parse(up.asked[0]?.body ?? "")).toEqual({ ...JSON.parse(chat()), temperature: 1 });
  });

  it("has a model's name that is no longer than a name", async () => {
    const { up, gateway } = await between(says("hi"));
    const { status, text } = await talk(gateway, { body: chat({ model: `ada/proxy/${"x".repeat(1000)}` }) });
    expect([status, errorOf(text).code, up.asked.length]).toEqual([400, "invalid_model", 0]);
  });
});

describe("answers of the agent that are failures", () => {
  const cases: [what: string, status: number, type: string, body: string, told: number, error: object][] = [
    [
      "a failure told as an answer",
      200,
      "application/json",
      completion("API call failed after 3 retries: no"),
      502,
      { code: "agent_failed", message: "API call failed after 3 retries: no" },
    ],
    [
      "one that names itself",
      200,
      "application/json",
      completion("x", { hermes: { failed: true, error: "no luck" } }),
      502,
      { code: "agent_failed", message: "no luck" },
    ],
    [
      "that our key is wrong",
      401,
      "application/json",
      `{"error":{"message":"Invalid API key ${bearer}"}}`,
      502,
      { code: "agent_refused_key" },
    ],
    ["an empty 403", 403, "text/plain", "", 502, { code: "agent_refused_key" }],
    [
      "an error of its own",
      429,
      "application/json",
      `{"error":{"message":"busy","type":"x","code":"rate_limit_exceeded"}}`,
      429,
      { code: "rate_limit_exceeded", message: "busy" },
    ],
    [
      "one that has our key in it",
      500,
      "application/json",
      `{"error":{"message":"bad ${bearer}","code":"server_error"}}`,
      500,
      { message: "bad [secret]" },
    ],
    ["a page", 500, "text/html", "<h1>500</h1>", 502, { code: "upstream_error" }],
    ["a plain 404", 404, "text/plain", "404: Not Found", 404, { code: "upstream_error" }],
  ];
  it.each(cases)("%s", async (_what, status, type, body, told, error) => {
    const { gateway } = await between((response) => {
      response.writeHead(status, { "content-type": type, "retry-after": "3" });
      response.end(body);
    });
    const answer = await talk(gateway);
    expect([answer.status, errorOf(answer.text)]).toEqual([told, expect.objectContaining(error)]);
    expect(answer.text).not.toContain(bearer);
    expect(gateway.lines).toMatchObject([{ ending: { status: told, code: expect.any(String) } }]);
    expect(gateway.settled).toHaveLength(1);
  });

  it("nothing more, in the middle of an answer", async () => {
    const { gateway } = await between((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write("{", () => response.destroy());
    });
    const { status, text } = await talk(gateway);
    expect([status, errorOf(text).code]).toEqual([502, "upstream_broke_off"]);
  });

  describe("an answer without a length, ended by its connection", () => {
    const unmeasured = (type: string, body: string, end: (finish: () => void) => void): Responder => {
      return (response) => {
        response.shouldKeepAlive = false;
        response.removeHeader("transfer-encoding");
        response.writeHead(200, { "content-type": type });
        response.write(body, () => end(() => response.end()));
      };
    };
    const event = `data: {"choices":[{"delta":{"content":"one"}}]}\n\n`;
    const done = "data: [DONE]\n\n";
    const cases: [what: string, type: string, body: string][] = [
      ["plain", "application/json", completion("hi")],
      ["streamed", "text/event-stream", event + done],
    ];
    it.each(cases)("%s: whole while the host is there, cut when it is not", async (_what, type, body) => {
      let isThere = true;
      const { gateway } = await between(
        unmeasured(type, body, (finish) => {
          gateway.connected = isThere;
          finish();
        }),
      );
      const whole = await talk(gateway);
      expect(whole).toMatchObject({ status: 200, whole: true, text: body });
      isThere = false;
      const { text } = await talk(gateway);
      expect(text).toContain(`"code":"upstream_broke_off"`);
      expect(gateway.lines.map(({ ending }) => ending.code)).toEqual([undefined, "upstream_broke_off"]);
    });
  });

  it.each([
    ["/v1/chat/completions", `data: {"choices":[{"delta":{"content":"one"}}]}\n\n`],
    [
      "/v1/responses",
      'data: {"type":"response.created","response":{"id":"r1","status":"in_progress"}}\n\n' +
        'data: {"type":"response.output_text.delta","delta":"one"}\n\n',
    ],
  ])("a stream on %s that ends without its final event", async (path, body) => {
    const { gateway } = await between((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(body);
    });
    const { text } = await talk(gateway, { path, body: chat({ stream: true, input: "x" }) });
    expect(text).toContain(`"code":"upstream_broke_off"`);
    expect(gateway.lines).toMatchObject([{ ending: { status: 502, code: "upstream_broke_off" } }]);
  });

  it("an error in the middle of a streamed response", async () => {
    const { gateway } = await between((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"type":"response.created","response":{"id":"r1","status":"in_progress"}}\n\n');
      response.write('data: {"type":"response.output_text.delta","delta":"one"}\n\n');
      response.end('data: {"type":"error","error":{"message":"the model went away"}}\n\n');
    });
    const { text } = await talk(gateway, { path: "/v1/responses", body: chat({ stream: true, input: "x" }) });
    expect(text).toContain("event: response.failed\n");
    expect(gateway.lines).toMatchObject([{ ending: { status: 502 } }]);
  });

  it.each([
    ["an answer", true, "x".repeat(15_000_000)],
    ["a stream made of a whole answer", false, completion("x".repeat(15_000_000))],
  ])("%s of more than its caller reads", async (_, streams, text) => {
    const agents = [served({ streams })];
    const { gateway } = await between(says(text), { agents, settings: { traffic: { unread: 50 } } });
    const { answer } = await begin(gateway, "/v1/chat/completions", { body: chat({ stream: !streams }) });
    const closed = new Promise((resolve) => answer.on("close", resolve).on("error", () => {}));
    // Nothing is read for a while; then only data in flight arrives.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    let bytes = 0;
    answer.on("data", (chunk) => {
      bytes += chunk.length;
    });
    await closed;
    expect([answer.complete, bytes < 15_000_000]).toEqual([false, true]);
  });

  it("nothing at all, for too long", async () => {
    const { up, gateway } = await between(() => {}, { settings: { silence: 40 } });
    const { status, text } = await talk(gateway);
    expect([status, errorOf(text).code]).toEqual([504, "upstream_timeout"]);
    await Promise.all([...up.sockets].map((socket) => once(socket, "close")));
  });
});

describe("leaving while the agent is located", () => {
  const directory = new Directory([served()]);
  /** A fleet that changes at the nth read. */
  const slowly = (nth: number, meanwhile: () => void) => {
    let count = 0;
    return () => {
      count++;
      if (count !== nth) return directory;
      meanwhile();
      return new Promise<Directory>((done) => setTimeout(() => done(directory), 50));
    };
  };

  it("a caller: its reservation is released, and logged", async () => {
    let leave = () => {};
    const { gateway } = await between(says("hi"), { parts: { fleet: slowly(2, () => leave()) } });
    const socket = connect(gateway.port, "127.0.0.1");
    leave = () => socket.destroy();
    const body = chat();
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await vi.waitFor(() => expect(gateway.lines).toMatchObject([{ ending: { status: 499, code: "client_gone" } }]));
    expect(gateway.settled).toEqual(["released"]);
  });

  it("a connection: another one is taken", async () => {
    let end = () => {};
    const { up, gateway } = await between(says("hi"), { parts: { fleet: slowly(6, () => end()) } });
    end = () => {
      for (const socket of up.sockets) socket.destroy();
    };
    expect([(await talk(gateway)).status, (await talk(gateway)).status]).toEqual([200, 200]);
  });
});

it("a caller that leaves before the answer is counted as one request", async () => {
  const { up, gateway } = await between(() => {});
  const { request: asked } = await new Promise<{ request: ReturnType<typeof request> }>((done) => {
    const headers = { authorization: "Bearer good", "content-type": "application/json" };
    const sent = request({ port: gateway.port, path: "/v1/chat/completions", method: "POST", headers });
    sent.on("error", () => {});
    sent.end(chat({ max_tokens: 50 }));
    done({ request: sent });
  });
  await vi.waitFor(() => expect(up.asked).toHaveLength(1));
  asked.destroy();
  await vi.waitFor(() => expect(gateway.settled).toEqual([{ input: expect.any(Number), output: 50, estimated: true }]));
  expect(gateway.lines).toMatchObject([{ ending: { status: 499, code: "client_gone", tokens: { output: 50 } } }]);
});

it("an ambiguous name is reported with all names that the key may use", async () => {
  const agents = ["wolf-i", "wolf-ii", "lone"].map((host) => served({ host, word: `${host}/ada` }));
  const keys = { good: keyOf(), narrow: keyOf({ agents: ["wolf-*/ada"] }), one: keyOf({ agents: ["lone/ada"] }) };
  const { gateway } = await between(says("hi"), { agents, keys });
  const said = async (key: string) => errorOf((await talk(gateway, { key })).text);
  expect((await said("narrow")).message).toBe("Several agents have this name. Use one of `wolf-i/ada`, `wolf-ii/ada`.");
  expect((await said("one")).message).toContain("does not exist");
});

it("requests for unknown agents are logged", async () => {
  const { gateway } = await between(says("hi"));
  await ask(gateway, "/v1/foo");
  await ask(gateway, "/v1/foo", { key: "nobody" });
  await talk(gateway, { body: chat({ model: "eve" }) });
  expect(gateway.lines.map(({ call }) => [call.key?.name, call.model])).toEqual([
    ["laptop", undefined],
    [undefined, undefined],
    ["laptop", "eve"],
  ]);
});

it("tool progress is not sent to clients that would take it for a chunk", async () => {
  const chunk = `data: ${JSON.stringify({ choices: [{ delta: { content: "hi" } }] })}\n\n`;
  const { gateway } = await between((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`${chunk}event: hermes.tool.progress\ndata: {"tool":"terminal"}\n\n${chunk}data: [DONE]\n\n`);
  });
  expect((await talk(gateway, { body: chat({ stream: true }) })).text).toBe(`${chunk}${chunk}data: [DONE]\n\n`);
});

describe("keys in failures", () => {
  const failure = (key: string) => `bad key ${key}`;
  const redact = (text: string) => text.replaceAll(bearer, "[secret]");

  it("is not in a header", async () => {
    const { gateway } = await between(
      (response) => {
        response.writeHead(502, { "content-type": "application/json", "x-hermes-error": failure(bearer) });
        response.end(JSON.stringify({ error: { message: failure(bearer), code: "agent_incomplete" } }));
      },
      { parts: { redact } },
    );
    const { headers, text } = await talk(gateway);
    expect([headers["x-hermes-error"], errorOf(text).message]).toEqual([failure("[secret]"), failure("[secret]")]);
  });

  it("is not in a stream, wherever that is cut", async () => {
    const { gateway } = await between(
      async (response) => {
        response.writeHead(200, { "content-type": "text/event-stream", "x-hermes-error": failure(bearer) });
        const error = `data: {"choices":[{"delta":{},"finish_reason":"error"}],"error":{"message":"${failure(bearer)}"}}\n\n`;
        for (const piece of error.match(/.{1,40}/gs) ?? []) {
          response.write(piece);
          await new Promise(setImmediate);
        }
        response.end("data: [DONE]\n\n");
      },
      { parts: { redact } },
    );
    const { headers, text } = await talk(gateway, { body: chat({ stream: true }) });
    expect(headers["x-hermes-error"]).toBe(failure("[secret]"));
    expect(text).toContain(failure("[secret]"));
    expect(text).not.toContain(bearer.slice(0, 20));
  });
});

describe("bodies that are logged", () => {
  const redact = (text: string) => text.replaceAll(bearer, "[secret]");

  it("have no secret that was streamed in pieces", async () => {
    const { gateway } = await between(
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const content of `it is ${bearer}!`.match(/.{1,16}/g) ?? [])
          response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
        response.end("data: [DONE]\n\n");
      },
      { settings: { logBodies: true }, parts: { redact } },
    );
    await talk(gateway, { body: chat({ stream: true }) });
    expect(gateway.lines[0]?.ending.bodies?.answered).toBe("it is [secret]!");
  });
});

describe("streams", () => {
  const event = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
  const last = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 9, completion_tokens: 2 } })}\n\ndata: [DONE]\n\n`;
  const head = { "content-type": "text/event-stream", "cache-control": "no-cache" };

  it("come chunk by chunk, and end when their line is written", async () => {
    let more = (_: string) => {};
    const { gateway } = await between((response) => {
      response.writeHead(200, head);
      response.write(event("one"));
      more = (text) => (text === "" ? response.end() : response.write(text));
    });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let writing = () => {};
    const began = new Promise<void>((resolve) => {
      writing = resolve;
    });
    gateway.onWrite = () => {
      writing();
      return held;
    };
    const { answer } = await begin(gateway, "/v1/chat/completions", { body: chat({ stream: true }) });
    expect([answer.statusCode, answer.headers["cache-control"]]).toEqual([200, "no-cache"]);
    let heard = "";
    answer.on("data", (chunk) => {
      heard += chunk;
    });
    await once(answer, "data");
    expect(heard).toBe(event("one"));
    // The second is sent only after the first arrived.
    more(event("two"));
    await once(answer, "data");
    expect(heard).toBe(event("one") + event("two"));
    more(last);
    more("");
    await began;
    expect([heard.includes("[DONE]"), answer.complete]).toEqual([false, false]);
    release();
    await once(answer, "end");
    expect(heard).toBe(event("one") + event("two") + last);
    expect(gateway.settled).toEqual([{ input: 9, output: 2 }]);
    expect(gateway.lines).toMatchObject([
      { call: { streamed: true }, ending: { status: 200, first: expect.any(Number) } },
    ]);
  });

  it("are cut when their line cannot be written, and a plain answer is not given", async () => {
    const { gateway } = await between((response, { body }) => {
      if (!body.includes("stream")) return says("hi")(response, { url: "", body });
      response.writeHead(200, head);
      response.end(event("one") + last);
    });
    gateway.onWrite = () => {
      throw new Refusal(503, "audit_unavailable", "full");
    };
    const plain = await talk(gateway);
    expect([plain.status, errorOf(plain.text).code]).toEqual([503, "audit_unavailable"]);
    const stream = await talk(gateway, { body: chat({ stream: true }) });
    expect([stream.whole, stream.text.includes("[DONE]")]).toEqual([false, false]);
    expect(stream.text).toContain(`"code":"audit_unavailable"`);
  });

  it("that break off end with an error, without [DONE]", async () => {
    const { gateway } = await between((response) => {
      response.writeHead(200, head);
      response.write(event("one"), () => response.destroy());
    });
    const { whole, text } = await talk(gateway, { body: chat({ stream: true }) });
    expect(whole).toBe(false);
    const [first, error] = text.split("\n\n").filter((each) => each !== "");
    expect(`${first}\n\n`).toBe(event("one"));
    expect(errorOf((error ?? "").slice("data: ".length)).code).toBe("upstream_broke_off");
    expect(gateway.lines).toMatchObject([
      { ending: { status: 502, code: "upstream_broke_off", tokens: { estimated: true } } },
    ]);
  });

  it("that break off inside an event get an error event", async () => {
    const { gateway } = await between((response) => {
      response.writeHead(200, head);
      response.write(`${event("one")}data: {"cho`, () => response.destroy());
    });
    const { text } = await talk(gateway, { body: chat({ stream: true }) });
    const datas: string[] = [];
    const onEvent = (event: Buffer) => datas.push(parseEvent(event)?.data ?? "");
    new EventSplitter({ onEvent }).push(Buffer.from(text));
    expect(errorOf(datas.at(-1) ?? "").code).toBe("upstream_broke_off");
  });

  it("stop the agent when the caller leaves", async () => {
    const { up, gateway } = await between((response) => {
      response.writeHead(200, head);
      response.write(event("one"));
    });
    const logged = new Promise<void>((resolve) => {
      gateway.onWrite = () => resolve();
    });
    const { asked, answer } = await begin(gateway, "/v1/chat/completions", { body: chat({ stream: true }) });
    await once(answer, "data");
    const [socket] = [...up.sockets];
    const closed = socket && once(socket, "close");
    asked.destroy();
    await Promise.all([closed, logged]);
    expect(gateway.lines).toMatchObject([
      { ending: { status: 499, code: "client_gone", tokens: { estimated: true } } },
    ]);
  });

  it("wait for a slow reader", async () => {
    const chunk = event("x".repeat(100_000));
    let sent = 0;
    const { gateway } = await between((response) => {
      response.writeHead(200, head);
      const fill = () => {
        while (sent < 1000) {
          sent++;
          if (!response.write(chunk)) return void response.once("drain", fill);
        }
        response.end(last);
      };
      fill();
    });
    const { answer } = await begin(gateway, "/v1/chat/completions", { body: chat({ stream: true }) });
    answer.pause();
    for (let before = -1; before !== sent; await new Promise((wait) => setTimeout(wait, 200))) before = sent;
    expect(sent).toBeLessThan(900);
    let length = 0;
    for await (const each of answer) length += each.length;
    expect(length).toBe(1000 * chunk.length + last.length);
  });
});

it("a logged body is truncated, never inside a secret", async () => {
  const secret = bearer;
  const filling = "x".repeat(65_536 - 30);
  const { gateway } = await between(
    (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const content = `${filling}${secret}`;
      for (let n = 0; n < 40; n++) response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
      response.end("data: [DONE]\n\n");
    },
    { settings: { logBodies: true } },
  );
  await talk(gateway, { body: chat({ messages: [{ role: "user", content: `${filling}${secret}` }], stream: true }) });
  const { asked = "", answered = "" } = gateway.lines[0]?.ending.bodies ?? {};
  for (const text of [asked, answered]) {
    expect(text.length).toBeLessThan(65_600);
    expect(text.length).toBeGreaterThan(56_000);
    expect([text.endsWith("…"), text.includes("bbbb")]).toEqual([true, false]);
  }
});

describe("tools that an agent runs itself", () => {
  const called = { type: "function_call", id: "fc_1", call_id: "call_1", name: "terminal", arguments: "{}" };
  const message = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "done" }] };
  const response = { id: "resp_1", output: [called, message], usage: { input_tokens: 40, output_tokens: 60 } };
  const sse = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const added = sse("response.output_item.added", { output_index: 1, item: message });
  const stream = [
    sse("response.output_item.added", { output_index: 0, item: called }),
    added,
    sse("response.completed", { response }),
  ].join("");
  const answering: Responder = (up, { body }) => {
    const streams = body.includes("stream");
    up.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
    up.end(streams ? stream : JSON.stringify(response));
  };
  const agents = [served({ proxy: { provider: "xai", paths: ["/v1/responses"], maxBodyBytes: 1000 } })];
  const to = (model: string, more: object = {}) => ({
    path: "/v1/responses",
    body: JSON.stringify({ model, input: "x", ...more }),
  });

  it("are hidden from callers that could take them for their own tasks; their tokens count", async () => {
    const { gateway } = await between(answering, { agents });
    expect(JSON.parse((await talk(gateway, to("ada"))).text).output).toEqual([message]);
    const { text, whole } = await talk(gateway, to("ada", { stream: true }));
    expect([text.includes("function_call"), text.includes(`"output":[{"type":"message"`), whole]).toEqual([
      false,
      true,
      true,
    ]);
    expect(gateway.settled).toEqual(Array(2).fill({ input: 40, output: 60 }));
  });

  it("of a proxy's model are the caller's own, and pass", async () => {
    const { gateway } = await between(answering, { agents });
    expect((await talk(gateway, to("ada/proxy/grok"))).text).toBe(JSON.stringify(response));
    expect((await talk(gateway, to("ada/proxy/grok", { stream: true }))).text).toBe(stream);
  });
});

describe("the end", () => {
  it("completes running requests, and accepts no new ones", async () => {
    let finish = () => {};
    const asked = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let answer = () => {};
    const { gateway } = await between((response) => {
      answer = () => says("hi")(response, { url: "", body: "" });
      finish();
    });
    const under = talk(gateway);
    await asked;
    const stopped = gateway.stop();
    await expect(talk(gateway)).rejects.toThrow("ECONNREFUSED");
    answer();
    expect((await under).status).toBe(200);
    await stopped;
    open.splice(0);
  });

  it("cuts what does not end, with its line written", async () => {
    let reached = () => {};
    const both = new Promise<void>((resolve) => {
      let count = 0;
      reached = () => ++count === 2 && resolve();
    });
    const { gateway } = await between(
      (response, { body }) => {
        if (body.includes("stream")) {
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.write("data: {}\n\n");
        }
        reached();
      },
      { settings: { drain: 50 } },
    );
    const plain = talk(gateway);
    const stream = talk(gateway, { body: chat({ stream: true }) });
    await both;
    await gateway.stop();
    expect([(await plain).status, errorOf((await plain).text).code]).toEqual([503, "shutting_down"]);
    expect((await stream).text).toContain("shutting_down");
    expect(gateway.lines.map(({ ending }) => ending.code)).toEqual(["shutting_down", "shutting_down"]);
    open.splice(0);
  });
});
