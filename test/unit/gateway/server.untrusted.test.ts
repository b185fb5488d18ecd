import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { Refusal } from "../../../src/gateway/request/refusal.js";
import type { UpstreamPool } from "../../../src/gateway/upstream-pool/upstream-pool.js";
import { UpstreamPools } from "../../../src/gateway/upstream-pool/upstream-pools.js";
import { betweens } from "./between.js";
import { ask, chat, keyOf, says, served, talk } from "./test-gateway.js";

const { between } = betweens();

/** Pools whose connections close like an SSH channel: after the other side agreed, with data still in flight. */
function slowlyClosing(port: number) {
  const open = async () => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    socket.destroy = () => socket.end();
    return socket;
  };
  return new UpstreamPools({ connect: async () => ({ connection: { open: true }, port, open }) });
}

const post = (body: string): string =>
  [
    ...["POST /v1/chat/completions HTTP/1.1", "host: x", "authorization: Bearer good"],
    ...[`content-length: ${body.length}`, "", body],
  ].join("\r\n");

const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("an agent with invalid answers", () => {
  const events: [what: string, path: string, data: string[]][] = [
    ["choices that are no list", "/v1/chat/completions", [`{"choices":5}`, `{"choices":{}}`]],
    ["choices of nothing", "/v1/chat/completions", [`{"choices":[null,5]}`, `{"choices":[{"delta":5}]}`]],
    ["members of another kind", "/v1/responses", [`{"type":"x.delta","delta":[]}`, `{"usage":5,"response":7}`, "[]"]],
    [
      "something nested without end",
      "/v1/responses",
      [
        `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call"}}`,
        `{"type":"response.output_text.delta","output_index":1,"delta":${deep(100_000)}}`,
      ],
    ],
  ];
  it.each(events)("in a stream: %s", async (_what, path, data) => {
    const told: unknown[] = [];
    const { gateway } = await between(
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const each of data) response.write(`data: ${each}\n\n`);
        response.end("data: [DONE]\n\n");
      },
      { parts: { trouble: (error) => told.push(error) } },
    );
    const answer = await talk(gateway, { path, body: chat({ stream: true }) });
    expect(answer.status).toBe(200);
    expect(gateway.lines).toHaveLength(1);
    expect((await ask(gateway, "/health")).status).toBe(200);
  });

  it("too late: its answer comes after the caller got an error", async () => {
    const heads: (() => void)[] = [];
    const { up, gateway } = await between(
      (response) => {
        heads.push(() => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders());
      },
      { settings: { silence: 40 }, parts: { upstreamPool: (place) => pools.poolFor(place) } },
    );
    const pools = slowlyClosing(up.port);
    const { status } = await talk(gateway);
    const [late] = [...up.sockets].map((each) => once(each, "close"));
    heads[0]?.();
    for (const each of up.sockets) each.end();
    await late;
    expect([status, gateway.lines.length]).toEqual([504, 1]);
    expect((await ask(gateway, "/health")).status).toBe(200);
    pools.close();
  });

  it("nothing, when its proxy is asked for models: the list comes without them", async () => {
    const agents = [served({ proxy: { provider: "nous", paths: ["/v1/models"], maxBodyBytes: 1000 } })];
    const { up, gateway } = await between(() => {}, {
      agents,
      parts: { upstreamPool: (place) => pools.poolFor(place) },
    });
    const pools = slowlyClosing(up.port);
    const { text } = await ask(gateway, "/v1/models");
    expect(JSON.parse(text).data).toMatchObject([{ id: "ada" }]);
    pools.close();
  });

  it.each([[`{"choices":5}`], [`{"choices":[null]}`], [`{"choices":{"0":1}}`], ["5"]])("whole: %s", async (body) => {
    const { gateway } = await between((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(body);
    });
    const answer = await talk(gateway);
    expect(answer.status).toBe(200);
    expect(gateway.lines).toHaveLength(1);
  });
});

describe("a caller with invalid requests", () => {
  it("a replayed request: its line names the key and the first request", async () => {
    const replayed = Object.assign(new Refusal(401, "request_replayed", "again"), {
      by: { key: keyOf({ name: "caught" }), nonce: "n".repeat(16) },
    });
    const signed = () => Promise.reject(replayed);
    const { gateway } = await between(says("hi"), { parts: { signed } });
    const { status, text } = await talk(gateway, { headers: { "x-clm-signature": "v1=0" } });
    expect([status, text.includes("caught")]).toEqual([401, false]);
    expect(gateway.lines).toMatchObject([{ call: { key: { name: "caught" }, nonce: "n".repeat(16) } }]);
  });

  it("endless nesting is reported", async () => {
    const { up, gateway } = await between(says("hi"));
    const body = `{"model":"ada","messages":${deep(100_000)}}`;
    const { status, text } = await talk(gateway, { body });
    expect([status, JSON.parse(text).error.code]).toEqual([400, "invalid_json"]);
    expect(up.asked).toEqual([]);
  });

  it("a key in a query goes no further", async () => {
    const { up, gateway } = await between(says("hi"));
    await talk(gateway, { path: "/v1/chat/completions?key=clm_abcdefgh_xyz" });
    expect(up.asked.map(({ url }) => url)).toEqual(["/v1/chat/completions"]);
    expect(JSON.stringify(gateway.lines)).not.toContain("clm_abcdefgh");
  });

  it("an unknown Expect header is logged like any request", async () => {
    const { gateway } = await between(says("hi"));
    const { status } = await ask(gateway, "/v1/models", { headers: { expect: "the unexpected" } });
    expect(status).toBe(200);
    expect(gateway.lines).toHaveLength(1);
  });

  it("leaves at the moment a connection is free for it", async () => {
    const { gateway, up } = await between(() => {}, {
      parts: {
        upstreamPool: () => ({ take: (signal: AbortSignal) => lateTake(signal) }) as unknown as UpstreamPool,
      },
    });
    const pools = slowlyClosing(up.port);
    const socket = connect(gateway.port, "127.0.0.1");
    async function lateTake(signal: AbortSignal) {
      const connection = await pools.poolFor({ host: "wolf-i", name: "ada", proxy: false }).take(signal);
      socket.destroy();
      await once(signal, "abort");
      return connection;
    }
    socket.write(post(chat()));
    await vi.waitFor(() => expect(gateway.lines).toMatchObject([{ ending: { code: "client_gone" } }]));
    expect(up.asked).toEqual([]);
    pools.close();
  });

  it("two requests at once, and leaves: neither is answered by the agent any longer", async () => {
    const { up, gateway } = await between(() => {});
    const socket = connect(gateway.port, "127.0.0.1");
    await once(socket, "connect");
    socket.write(post(chat()).repeat(2));
    await vi.waitFor(() => expect(up.asked).toHaveLength(2));
    const ends = [...up.sockets].map((each) => once(each, "close"));
    socket.destroy();
    await Promise.all(ends);
    await vi.waitFor(() =>
      expect(gateway.lines.map(({ ending }) => ending.code)).toEqual(["client_gone", "client_gone"]),
    );
  });
});
