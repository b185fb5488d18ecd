import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Standin, standins } from "../../../../src/lab/standin.js";
import { startEcho, startStandin } from "../../lab/standin-process.js";
import { betweens } from "../between.js";
import { ask, door, keyOf, says, served, type TestGateway } from "../test-gateway.js";

// Keys at one agent never see each other's sessions, unless they share a group.

const own = (id: string, more: object = {}) => keyOf({ id, name: id, all_sessions: false, ...more });
const keys = {
  ann: own("aaaaaaa1"),
  bob: own("aaaaaaa2"),
  web1: own("aaaaaaa3", { session_group: "web" }),
  web2: own("aaaaaaa4", { session_group: "web" }),
  ops: own("aaaaaaa5", { all_sessions: true }),
};
type Who = keyof typeof keys;
const user = (content: string) => ({ role: "user", content });
const sessionHeader = "x-hermes-session-id";
/** Hermes' own name for an unnamed session. */
const idByWords = (words: string) => `api-${createHash("sha256").update(`\n${words}`).digest("hex").slice(0, 16)}`;

let echo: Awaited<ReturnType<typeof startEcho>>;
beforeAll(async () => {
  echo = await startEcho();
});
afterAll(() => echo.stop());

describe.each(Object.keys(standins) as Standin[])("Hermes %s", (version) => {
  let agent: Awaited<ReturnType<typeof startStandin>>;
  let gateway: TestGateway;
  beforeAll(async () => {
    agent = await startStandin(version, echo.port);
    const bearer = "0123456789abcdef".repeat(4);
    gateway = await door({ port: agent.port, agents: [served()], keys, bearerNow: () => bearer });
  });
  afterAll(async () => {
    await gateway.stop();
    await agent.stop();
  });

  async function chat(key: Who, content: string, session?: string, earlier: object[] = []) {
    const headers = session === undefined ? {} : { [sessionHeader]: session };
    const body = JSON.stringify({ model: "ada", messages: [...earlier, user(content)] });
    const answer = await ask(gateway, "/v1/chat/completions", { key, body, headers });
    return {
      said: JSON.parse(answer.text).choices?.[0].message.content,
      session: answer.headers[sessionHeader] as string,
    };
  }
  const turns = async (key: Who, session: string) => (await chat(key, "how many turns", session)).said;
  async function respond(key: Who, input: string, more: object = {}) {
    const body = JSON.stringify({ model: "ada", input, ...more });
    const { status, text } = await ask(gateway, "/v1/responses", { key, body });
    const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    const response = "stream" in more ? events.at(-1)?.response : JSON.parse(text);
    return {
      status,
      id: response?.id as string,
      ids: events.flatMap(({ response }) => response?.id ?? []),
      said: response?.output?.at(-1)?.content[0].text,
    };
  }

  it("equal first messages start two sessions with unpredictable ids", async () => {
    const words = "the door has a new code";
    const first = await chat("ann", words);
    const second = await chat("bob", words);
    expect(second.session).not.toBe(first.session);
    expect([await turns("ann", first.session), await turns("bob", second.session)]).toEqual(["turns: 2", "turns: 2"]);
    expect(await turns("bob", idByWords(words))).toBe("turns: 1");
    expect(await turns("bob", first.session)).toBe("turns: 1");
  });

  it("the same message again is a new conversation, as without the gateway", async () => {
    expect([(await chat("ann", "how many turns")).said, (await chat("ann", "how many turns")).said]).toEqual([
      "turns: 1",
      "turns: 1",
    ]);
  });

  it("a history that the body brings counts, and no session is given out for it", async () => {
    const earlier = [user("one"), { role: "assistant", content: "two" }];
    expect(await chat("ann", "how many turns", undefined, earlier)).toEqual({ said: "turns: 2", session: undefined });
    expect(await turns("bob", idByWords("one"))).toBe("turns: 1");
  });

  it("a caller's session name is private to its key, and returned unchanged", async () => {
    const { session } = await chat("ann", "hello", "night");
    expect([session, await turns("ann", "night"), await turns("bob", "night")]).toEqual([
      "night",
      "turns: 2",
      "turns: 1",
    ]);
  });

  it.each([{}, { stream: true }])("responses continue by id only for their own key %o", async (more) => {
    const { id } = await respond("ann", "hello", more);
    expect(id).toMatch(/^resp_/);
    const next = await respond("ann", "how many turns", { ...more, previous_response_id: id });
    expect([next.said, new Set(next.ids).size <= 1]).toEqual(["turns: 2", true]);
    const raw = id.replace(/\.[0-9a-f]+$/, "");
    for (const [key, previous_response_id] of [
      ["bob", id],
      ["bob", raw],
      ["ann", raw],
      ["ann", `${raw}.${"0".repeat(32)}`],
    ] as const) {
      const body = JSON.stringify({ model: "ada", input: "how many turns", previous_response_id });
      expect((await ask(gateway, "/v1/responses", { key, body })).status).toBe(404);
    }
  });

  it("a conversation's name is the key's own", async () => {
    await respond("ann", "hello", { conversation: "tea" });
    expect((await respond("ann", "how many turns", { conversation: "tea" })).said).toBe("turns: 2");
    expect((await respond("bob", "how many turns", { conversation: "tea" })).said).toBe("turns: 1");
  });

  it("keys of a group share sessions, and no other key", async () => {
    await chat("web1", "hello", "shared");
    expect([await turns("web2", "shared"), await turns("ann", "shared")]).toEqual(["turns: 2", "turns: 1"]);
    const { session } = await chat("web1", "hi there");
    expect([await turns("web2", session), await turns("bob", session)]).toEqual(["turns: 2", "turns: 1"]);
    const { id } = await respond("web1", "hello");
    expect((await respond("web2", "how many turns", { previous_response_id: id })).said).toBe("turns: 2");
  });

  it("a key for all sessions uses the agent's own names, and the log says so", async () => {
    gateway.lines.length = 0;
    const { session } = await chat("ops", "as it is");
    expect([session, await turns("ops", session)]).toEqual([idByWords("as it is"), "turns: 2"]);
    await chat("web1", "hello", "shared");
    await chat("ann", "hello");
    expect(gateway.lines.map(({ call }) => call.sessions)).toEqual(["all", "all", "group:web", undefined]);
  });
});

describe("the request to the agent", () => {
  const { between } = betweens();
  const named = { "x-hermes-session-id": "s", "x-hermes-session-key": "k", "idempotency-key": "i" };
  const body = JSON.stringify({ model: "ada", messages: [user("one"), user("two")] });

  it("is another name for each key, the same each time, and never the caller's", async () => {
    const { gateway, up } = await between(says("hi"), { keys });
    for (const key of ["ann", "ann", "bob"]) await ask(gateway, "/v1/chat/completions", { key, body, headers: named });
    const [first, again, other] = up.asked.map(({ headers }) => Object.keys(named).map((name) => headers[name]));
    expect(first).toEqual(again);
    for (const [at, name] of Object.values(named).entries()) {
      expect(first?.[at]).toMatch(/^clm-[0-9a-f]{32}$/);
      expect([name, first?.[at]]).not.toContain(other?.[at]);
    }
    expect(up.asked[0]?.body).toBe(body);
  });

  it("has the caller's own session name in the answer", async () => {
    const { gateway } = await between(
      (response) => {
        response.writeHead(200, { "content-type": "application/json", "x-hermes-session-key": "clm-1" });
        response.end(JSON.stringify({ choices: [{ message: { content: "hi" } }] }));
      },
      { keys },
    );
    const { headers } = await ask(gateway, "/v1/chat/completions", { key: "ann", body, headers: named });
    expect(headers["x-hermes-session-key"]).toBe("k");
  });
});
