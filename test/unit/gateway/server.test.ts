import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Directory } from "../../../src/gateway/directory.js";
import { Refusal } from "../../../src/gateway/refusal.js";
import {
  type Answering,
  ask,
  bearer,
  begin,
  chat,
  completion,
  type Door,
  type DoorOptions,
  door,
  keyOf,
  says,
  served,
  talk,
  type Upstream,
  upstream,
} from "./door.js";

const open: { stop(): Promise<void> }[] = [];
const ups: Upstream[] = [];
afterEach(async () => {
  await Promise.all(ups.splice(0).map((each) => each.close()));
  await Promise.all(open.splice(0).map((each) => each.stop()));
});

async function between(answering: Answering, options: DoorOptions = {}): Promise<{ up: Upstream; gateway: Door }> {
  const up = await upstream(answering);
  ups.push(up);
  const gateway = await door({ port: up.port, proxyPort: up.port, ...options });
  open.push(gateway);
  return { up, gateway };
}

const errorOf = (text: string) => JSON.parse(text).error;

describe("what is refused, before anything is sent on", () => {
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
    if (status === 405) expect(answer.headers.allow).toBe(path === "/v1/models" ? "GET" : "POST");
    expect(up.asked).toEqual([]);
    expect(gateway.lines).toMatchObject([
      { call: { id: answer.headers["x-request-id"] }, ending: { status, code: errorOf(answer.text).code } },
    ]);
  });

  it("says the same of an agent that is not there and of one that is for others", async () => {
    const { gateway } = await between(says("hi"), { keys: { good: narrow } });
    const there = await talk(gateway);
    const not = await talk(gateway, { body: chat({ model: "eve" }) });
    expect(there.text.replaceAll("ada", "eve")).toBe(not.text);
  });

  it("does not repeat a key that somebody gave as a model", async () => {
    const { gateway } = await between(says("hi"));
    const { text } = await talk(gateway, { body: chat({ model: "clm_abcdefgh_xyz" }) });
    expect(text).not.toContain("clm_abcdefgh");
  });

  it("an allowance that is used up, which is told as it says", async () => {
    const { up, gateway } = await between(says("hi"), {
      parts: {
        allowance: {
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

  it("what cannot be reached, and further requests at once", async () => {
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

  it("everything, while the log cannot be written", async () => {
    const { up, gateway } = await between(says("hi"), {
      parts: {
        log: {
          mustBeWritable() {
            throw new Refusal(503, "audit_unavailable", "full");
          },
          write: async () => {
            throw new Refusal(503, "audit_unavailable", "full");
          },
        },
      },
    });
    expect([(await talk(gateway)).status, (await ask(gateway, "/health", { key: "" })).status]).toEqual([503, 503]);
    expect(up.asked).toEqual([]);
  });

  it("what is not HTTP, in the same shape", async () => {
    const { gateway } = await between(says("hi"));
    const socket = connect(gateway.port, "127.0.0.1");
    socket.end("HELO there\r\n\r\n");
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    const [head = "", body = ""] = Buffer.concat(chunks).toString().split("\r\n\r\n");
    expect([head.split("\r\n")[0], errorOf(body).code]).toEqual(["HTTP/1.1 400 Bad Request", "invalid_http"]);
  });
});

describe("what it answers by itself", () => {
  it("health without a key, metrics with the right to them", async () => {
    const { gateway } = await between(says("hi"), { keys: { good: keyOf(), chat: keyOf({ role: "chat" }) } });
    expect(await ask(gateway, "/health?x=1", { key: "" })).toMatchObject({ status: 200, text: `{"status":"ok"}` });
    expect(await ask(gateway, "/metrics")).toMatchObject({ status: 200, text: "clm_up 1\n" });
    expect((await ask(gateway, "/metrics", { key: "chat" })).status).toBe(403);
  });

  it("the models that a key may use, with what their proxies have", async () => {
    const agents = [
      served({ proxy: { provider: "nous", paths: ["/v1/embeddings"], largest: 1_048_576 } }),
      served({ host: "wolf-i", name: "ben", word: "wolf-i/ben" }),
      served({ host: "wolf-j", name: "ben", word: "wolf-j/ben" }),
    ];
    let lists = 0;
    const { gateway } = await between(
      (response) => {
        lists++;
        response.end(JSON.stringify({ data: [{ id: "hermes/4" }] }));
      },
      { agents, keys: { good: keyOf({ agents: ["ada", "wolf-j/*"] }) } },
    );
    const { text } = await ask(gateway, "/v1/models");
    expect(JSON.parse(text)).toEqual({
      object: "list",
      data: ["ada", "ada/proxy/hermes/4", "wolf-j/ben"].map((id) => ({
        ...{ id, object: "model", created: 1_700_000_000, owned_by: "clm" },
      })),
    });
    const one = async (id: string) => (await ask(gateway, `/v1/models/${id}`)).status;
    expect(await Promise.all(["ada", "wolf-i%2Fada", "ada/proxy/hermes/4", "wolf-j/ben"].map(one))).toEqual(
      Array(4).fill(200),
    );
    expect(await Promise.all(["wolf-i/ben", "ben", "ada/proxy/x", "%E0"].map(one))).toEqual(Array(4).fill(404));
    expect(lists).toBe(1);
  });

  it("leaves out a proxy that does not answer", async () => {
    const agents = [served({ proxy: { provider: "nous", paths: [], largest: 1 } })];
    const { gateway } = await between((response) => void response.destroy(), { agents });
    const { status, text } = await ask(gateway, "/v1/models");
    expect([status, JSON.parse(text).data.map(({ id }: { id: string }) => id)]).toEqual([200, ["ada"]]);
  });
});

describe("what it passes on", () => {
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
        ...{ method: "POST", url: "/v1/chat/completions", body },
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
    const agents = [served({ proxy: { provider: "nous", paths: ["/v1/embeddings"], largest: 100 } })];
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

  it("counts by length when nobody tells", async () => {
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

  it("no more connections than it may, and all get their answer in turn", async () => {
    const { up, gateway } = await between(
      (response) => void setImmediate(() => says("hi")(response, { url: "", body: "" })),
      {
        most: 2,
      },
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => talk(gateway)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect([up.asked.length, up.sockets.size]).toEqual([20, 2]);
  });

  it("looks again before another connection is opened, when the last look is old", async () => {
    let fresh = true;
    const { gateway } = await between(says("hi"), {
      isFresh: () => {
        const was = fresh;
        fresh = true;
        return was;
      },
    });
    await talk(gateway);
    expect(gateway.found).toBe(1);
    fresh = false;
    await Promise.all([talk(gateway), talk(gateway)]);
    expect(gateway.found).toBe(2);
  });
});

describe("what the agent says that is no answer", () => {
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

  it("nothing at all, for too long", async () => {
    const { up, gateway } = await between(() => {}, { settings: { silence: 40 } });
    const { status, text } = await talk(gateway);
    expect([status, errorOf(text).code]).toEqual([504, "upstream_timeout"]);
    await Promise.all([...up.sockets].map((socket) => once(socket, "close")));
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
    // The second is not sent before the first was heard.
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

  it("that break off say so, and have no [DONE]", async () => {
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

  it("stop the agent when nobody listens any more", async () => {
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

  it("wait for who reads slowly", async () => {
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

describe("the end", () => {
  it("lets what is under way come to its end, and takes nothing new", async () => {
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
