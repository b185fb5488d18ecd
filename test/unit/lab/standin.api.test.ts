import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Standin, standins } from "../../../src/lab/standin.js";
import { type Reply, startEcho, startStandin } from "./standin-process.js";

// The programs that the lab puts on its hosts, run here and asked over the loopback.

let echo: Awaited<ReturnType<typeof startEcho>>;
beforeAll(async () => {
  echo = await startEcho();
});
afterAll(() => echo.stop());

const user = (content: unknown) => ({ role: "user", content });
const json = ({ body }: Reply) => JSON.parse(body);
/** Of a stream, each event's data. */
const eventsOf = ({ body }: Reply) => [...body.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
const typesOf = (events: { type: string }[]) => events.map(({ type }) => type.replace("response.", ""));
// biome-ignore lint/suspicious/noExplicitAny: whatever it answers
const textOf = (response: any): string => response.output.at(-1).content[0].text;

describe("the echo", () => {
  const say = async (...messages: unknown[]) =>
    json(await echo.ask("/v1/chat/completions", { model: "echo", messages })).choices[0].message.content;

  it("recalls the last word that it was given for the handoff", async () => {
    const given = [user("The handoff code is no-1"), { role: "assistant", content: "the handoff code is K-7x." }];
    expect(await say(...given, user("What is the handoff code?"))).toBe("echo: the handoff code is K-7x");
    expect(await say(user("What is the handoff code?"))).toBe("echo: What is the handoff code?");
  });

  it("counts the tokens that it summarises", async () => {
    const said = [{ role: "system", content: "x" }, user("a"), { role: "assistant", content: "b" }];
    expect(await say(...said, user("Summarise this"))).toBe("echo: summary of 2 messages");
  });

  it("counts four characters as a token", async () => {
    const asked = { model: "echo", messages: [user("12345"), user("1234")] };
    const usage = { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 };
    expect(json(await echo.ask("/v1/chat/completions", asked))).toMatchObject({ usage });
    const streamed = { ...asked, stream: true, stream_options: { include_usage: true } };
    const chunks = eventsOf(await echo.ask("/v1/chat/completions", streamed));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
  });

  it("has the same vector for the same text, as numbers and packed", async () => {
    const asked = { model: "echo", input: ["tea", "coffee", "tea"] };
    const { data } = json(await echo.ask("/v1/embeddings", asked));
    const [tea, coffee, again] = data.map(({ embedding }: { embedding: number[] }) => embedding);
    expect(tea).toHaveLength(8);
    expect(again).toEqual(tea);
    expect(coffee).not.toEqual(tea);
    const packed = json(await echo.ask("/v1/embeddings", { ...asked, input: "tea", encoding_format: "base64" }));
    const bytes = Buffer.from(packed.data[0].embedding, "base64");
    expect(tea.map((_: number, at: number) => bytes.readFloatLE(at * 4))).toEqual(tea);
  });

  it("sends response events in the order that clients expect", async () => {
    const events = eventsOf(await echo.ask("/v1/responses", { model: "echo", input: "hello there", stream: true }));
    expect(typesOf(events)).toEqual([
      ...["created", "output_item.added", "content_part.added", "output_text.delta", "output_text.delta"],
      ...["output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"],
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(textOf(events.at(-1).response)).toBe("echo: hello there");
  });
});

describe.each(Object.keys(standins) as Standin[])("the stand-in for %s", (version) => {
  let agent: Awaited<ReturnType<typeof startStandin>>;
  beforeAll(async () => {
    agent = await startStandin(version, echo.port);
  });
  afterAll(() => agent.stop());

  const respond = (input: unknown, more: object = {}) => agent.ask("/v1/responses", { model: "m", input, ...more });
  const old = version === "2026.5.7";

  it("answers everything on one connection", async () => {
    const chat = { model: "m", messages: [user("hi")] };
    const replies = [
      await agent.ask("/health"),
      await agent.ask("/v1/nothing"),
      await agent.ask("/v1/chat/completions", chat),
      await agent.ask("/v1/chat/completions", { ...chat, stream: true }),
      await respond("hi", { stream: true }),
      await respond(undefined),
      await agent.ask("/v1/models"),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 404, 200, 200, 200, 400, 200]);
    expect(replies.slice(1).every(({ reused }) => reused)).toBe(true);
    expect(replies[3]?.headers["transfer-encoding"]).toBe("chunked");
  });

  it("answers Expect: 100-continue before a large body", async () => {
    const heard = await agent.expecting("/v1/responses", { model: "m", input: "hi" });
    expect(heard).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  it("stores its answers, and continues from them", async () => {
    const first = json(await respond("hello"));
    expect(first).toMatchObject({ object: "response", status: "completed", model: "m" });
    expect(textOf(first)).toBe("echo: hello");
    expect(json(await agent.ask(`/v1/responses/${first.id}`))).toEqual(first);
    const next = await respond("how many turns", { previous_response_id: first.id, stream: true });
    expect(textOf(eventsOf(next).at(-1).response)).toBe("turns: 2");
    const gone = await agent.ask(`/v1/responses/${first.id}`, undefined, "DELETE");
    expect(json(gone)).toEqual({ id: first.id, object: "response", deleted: true });
    expect((await agent.ask(`/v1/responses/${first.id}`)).status).toBe(404);
    expect((await respond("hi", { previous_response_id: first.id })).status).toBe(404);
  });

  it("keeps nothing that is not to be kept", async () => {
    const { id } = json(await respond("hello", { store: false }));
    expect((await agent.ask(`/v1/responses/${id}`)).status).toBe(404);
  });

  it("continues a conversation by its name", async () => {
    await respond("one", { conversation: "tea" });
    expect(textOf(json(await respond("how many turns", { conversation: "tea" })))).toBe("turns: 2");
    expect(textOf(json(await respond("how many turns", { conversation: "coffee" })))).toBe("turns: 1");
  });

  it("accepts a history from the caller", async () => {
    const history = [user("the handoff code is K-7x"), { role: "assistant", content: "fine" }];
    const asked = await respond("What is the handoff code?", { conversation_history: history });
    expect(textOf(json(asked))).toBe("echo: the handoff code is K-7x");
  });

  it("merges two user messages for the model, and stores both", async () => {
    const history = [user("one"), user("two"), { role: "assistant", content: "fine" }, user("three")];
    expect(textOf(json(await respond("four", { conversation_history: history })))).toBe("echo: three\n\nfour");
    const counted = await respond("how many turns", { conversation_history: history });
    expect(textOf(json(counted))).toBe("turns: 4");
  });

  it("ignores other items of a client's history", async () => {
    const asked = await respond([
      { type: "message", role: "developer", content: [{ type: "input_text", text: "be kind" }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "one" }] },
      { type: "reasoning", summary: [], encrypted_content: "x" },
      { type: "function_call", call_id: "c", name: "exec_command", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "done" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "two" }] },
      user([{ type: "input_text", text: "how many turns" }]),
    ]);
    expect(textOf(json(asked))).toBe("turns: 2");
  });

  it.each<[string, object, number]>([
    ["nothing", {}, 400],
    ["a number", { input: 7 }, 400],
    ["an empty list", { input: [] }, 400],
    ["two ways to go on", { input: "x", conversation: "a", previous_response_id: "b" }, 400],
    ["a file", { input: [user([{ type: "input_file", file_id: "f" }])] }, 400],
    ["no image", { input: [user([{ type: "input_image", image_url: "file:///etc/passwd" }])] }, 400],
    ["an image", { input: [user([{ type: "input_image", image_url: "data:image/png;base64,AAAA" }])] }, 200],
  ])("asked %s", async (_, body, status) => {
    expect((await agent.ask("/v1/responses", body)).status).toBe(status);
  });

  it("streams a response with all events that Codex reads", async () => {
    const events = eventsOf(await respond("hello there", { stream: true }));
    expect(typesOf(events)).toEqual([
      ...["created", "output_item.added", "output_text.delta", "output_text.delta", "output_text.delta"],
      ...["output_text.done", "output_item.done", "completed"],
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    const content = [{ type: "output_text", text: "echo: hello there", annotations: [] }];
    expect(events.at(-2).item).toMatchObject({ type: "message", role: "assistant", content });
    const { usage, output } = events.at(-1).response;
    expect(output).toEqual([events.at(-2).item]);
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
    expect(usage.output_tokens).toBe(5);
    expect(usage).toMatchObject({
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    });
  });

  it("reports its tool calls, plain and streamed", async () => {
    const kinds = ["function_call", "function_call_output", "message"];
    const typed = (output: { type: string }[]) => output.map(({ type }) => type);
    expect(typed(json(await respond("use a tool")).output)).toEqual(kinds);
    const events = eventsOf(await respond("use a tool", { stream: true }));
    const done = events.filter(({ type }) => type === "response.output_item.done");
    expect(typed(done.map(({ item }) => item))).toEqual(kinds);
    expect(events.at(-1).response.output).toEqual(done.map(({ item }) => item));
  });

  it("stores the text up to the moment the caller left", async () => {
    const asked = { model: "m", input: `slowly ${"word ".repeat(200)}`, stream: true };
    const heard = await agent.leavingAt("/v1/responses", asked, "output_text.delta");
    const { id } = JSON.parse(/^data: (.*)$/m.exec(heard)?.[1] ?? "").response;
    const status = async () => json(await agent.ask(`/v1/responses/${id}`)).status;
    await expect.poll(status, { timeout: 30_000 }).toBe("incomplete");
  });

  describe("reports a failed call like its release", () => {
    const refused = (status: number) =>
      old
        ? `Error code: ${status} - {'error': {'message': 'the model http-${status}-x always fails', 'type': 'echo_error', 'code': None}}`
        : `HTTP ${status}: the model http-${status}-x always fails`;
    const unused = { input_tokens: 0, output_tokens: 0 };

    it.each([
      ["http-401-x", refused(401)],
      ["http-400-x", refused(400)],
      ["http-500-x", "API call failed after 1 retries: HTTP 500: the model http-500-x always fails"],
    ])("%s", async (model, text) => {
      agent.useModel(model);
      try {
        const whole = json(await respond("hi"));
        expect(whole).toMatchObject({ status: "completed", usage: unused });
        expect(textOf(whole)).toBe(text);
        const { type, response } = eventsOf(await respond("hi", { stream: true })).at(-1);
        expect([type, response.usage]).toMatchObject([old ? "response.failed" : "response.completed", unused]);
        expect(old ? response.error.message : textOf(response)).toBe(text);

        const chat = { model: "m", messages: [user("hi")] };
        const { choices, usage, hermes } = json(await agent.ask("/v1/chat/completions", chat));
        expect([choices[0].message.content, choices[0].finish_reason]).toEqual([text, old ? "stop" : "error"]);
        expect([usage.total_tokens, hermes?.failed]).toEqual([0, old ? undefined : true]);
        const chunks = eventsOf(await agent.ask("/v1/chat/completions", { ...chat, stream: true }));
        expect(chunks.map(({ choices: [{ delta, finish_reason }] }) => [delta, finish_reason])).toEqual([
          [{ role: "assistant" }, null],
          [{}, old ? "stop" : "error"],
        ]);
      } finally {
        agent.useModel("echo");
      }
    });

    it("no text", async () => {
      agent.useModel("empty-x");
      try {
        expect(textOf(json(await respond("hi")))).toBe("(No response generated)");
        const reply = await agent.ask("/v1/chat/completions", { model: "m", messages: [user("hi")] });
        expect(reply.status).toBe(old ? 200 : 502);
      } finally {
        agent.useModel("echo");
      }
    });
  });

  it("calls tools as its release does", async () => {
    const said = (text: string) => ({ model: "m", messages: [user(text)], stream: true });
    const chunks = eventsOf(await agent.ask("/v1/chat/completions", said("use a tool")));
    const text = chunks.map(({ choices }) => choices?.[0].delta.content ?? "").join("");
    expect(text).toBe("\n\necho: use a tool");
    const { output } = json(await respond("run some code"));
    expect(JSON.parse(output[1].output[0].text).status).toBe(old ? "success" : "approval_required");
  });

  it("shows the model what tools did earlier in a session, and keeps the tool's name as its release does", () => {
    const done = `
import json
from hermes_cli import store, turn
store.prepare()
store.record("s-tools", "", turn.use_tool(turn.Listener()), None, {"prompt_tokens": 1, "completion_tokens": 1})
rows = [row["tool_name"] for row in store.messages_of("s-tools")]
print(json.dumps([rows, [(m["role"], "tool_calls" in m, "tool_call_id" in m) for m in store.history_of("s-tools")]]))`;
    expect(agent.python(done)).toEqual([
      [null, old ? null : "terminal"],
      [
        ["assistant", true, false],
        ["tool", false, true],
      ],
    ]);
  });

  // Past the gateway that runs: that one looks only every two seconds.
  const handing = (platform: string, state: string) => `
import json
from hermes_cli import handoff, settings, store
store.prepare()
store.record("s-1", "", [{"role": "user", "content": "hello"}], None, {"prompt_tokens": 1, "completion_tokens": 1})
with store.database() as db:
    db.execute("UPDATE sessions SET handoff_state = 'pending', handoff_platform = ? WHERE id = 's-1'", ["${platform}"])
row = next(row for row in handoff.pending() if row["id"] == "s-1")
claims = [handoff.claim("s-1"), handoff.claim("s-1")]
handoff.process(row, settings.load_config(), {"discord": {"state": "${state}"}, "api_server": {"state": "connected"}})
now = store.session_of("s-1")
print(json.dumps([claims, now["handoff_state"], now["handoff_error"], len(store.messages_of("s-1"))]))`;

  it.skipIf(old).each<[string, string, NodeJS.ProcessEnv, string, string | null]>([
    ["discord", "connected", { DISCORD_HOME_CHANNEL: "123" }, "completed", null],
    ["discord", "retrying", {}, "failed", "platform 'discord' is not active in this gateway"],
    ["discord", "connected", {}, "failed", "no home channel configured for discord; run /sethome on the destination"],
    ["api_server", "", {}, "failed", "no home channel configured for api_server; run /sethome on the destination"],
    ["pigeon", "", {}, "failed", "unknown platform 'pigeon'"],
  ])("hands a session to %s (%s)", (platform, state, env, ended, error) => {
    const [claims, is, why] = agent.python(handing(platform, state), env);
    expect([claims, is, why]).toEqual([[true, false], ended, error]);
  });

  it.skipIf(old)("binds the channel to the session that was handed over, and answers there", () => {
    agent.python(handing("discord", "connected"), { DISCORD_HOME_CHANNEL: "123" });
    const bound = Object.entries<{ session_id: string }>(
      JSON.parse(readFileSync(join(agent.apart, "sessions/sessions.json"), "utf8")),
    );
    expect(bound.at(-1)?.[0]).toMatch(/^agent:main:discord:thread:123:\d+$/);
    expect(bound.at(-1)?.[1].session_id).toBe("s-1");
  });

  it.runIf(old)("knows nothing of channels to hand a session to", () => {
    const has = `import json
from hermes_cli import store
store.prepare()
with store.database() as db:
    print(json.dumps([row["name"] for row in db.execute("PRAGMA table_info(sessions)") if row["name"].startswith("handoff")]))`;
    expect(agent.python(has)).toEqual([]);
  });
});
