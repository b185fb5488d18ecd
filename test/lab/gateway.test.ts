import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { misbehave, unitOf } from "./agents.js";
import { clm, inHost } from "./clm.js";
import { labFixture, withEcho } from "./fixture.js";
import { cutOff } from "./network.js";
import { newKey, Serving } from "./serving.js";

const host = "trial-1";
const newer = "trial13-1";

let serving: Serving;
let url: string;
let key: string;

const lab = labFixture({
  agents: [
    { host, name: "ada", configure: withEcho },
    { host: newer, name: "ben", version: "2026.5.7+standin", configure: withEcho },
  ],
});
const { home } = lab;
beforeAll(async () => {
  serving = new Serving(home);
  ({ url } = await serving.until("ready"));
  key = await newKey(home, "--name", "all", "--agents", "*", "--role", "admin");
});
afterAll(async () => {
  await serving?.stop();
});

const client = (more: object = {}) =>
  new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0, timeout: 60_000, ...more });
const say = (model: string, content: string, options: object = {}) =>
  client().chat.completions.create({ model, messages: [{ role: "user", content }] }, options);
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "answered",
    (error) => (error instanceof APIError ? [error.status, error.code] : error),
  );

async function curl(...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("curl", ["-sS", "--noproxy", "*", ...words], { maxBuffer: 1 << 26 });
  return stdout;
}

describe("two agents on two hosts", () => {
  it("are listed and answer the openai client, plain and streamed", async () => {
    const models = (await client().models.list()).data.map(({ id }) => id);
    expect(models).toEqual(expect.arrayContaining(["ada", "ben"]));
    expect((await client().models.retrieve(`${host}/ada`)).owned_by).toBe("clm");
    for (const model of ["ada", `${newer}/ben`]) {
      const { choices, usage } = await say(model, "good morning");
      expect(choices[0]?.message.content).toContain("good morning");
      expect(usage?.total_tokens).toBeGreaterThan(0);
      const stream = await client().chat.completions.create({
        model,
        stream: true,
        messages: [{ role: "user", content: "slowly: one two three" }],
      });
      const pieces: string[] = [];
      for await (const chunk of stream) pieces.push(chunk.choices[0]?.delta.content ?? "");
      expect(pieces.length).toBeGreaterThan(2);
      expect(pieces.join("")).toContain("one two three");
    }
    const { output_text } = await client().responses.create({ model: "ada", input: "good evening" });
    expect(output_text).toContain("good evening");
  });

  it("send no tool call that an agent already ran", async () => {
    const asked = { model: "ada", input: "use a tool" };
    const { output } = await client().responses.create(asked);
    expect(output.map(({ type }) => type)).toEqual(["message"]);
    const seen: [type: string, place: number | undefined][] = [];
    for await (const event of await client().responses.create({ ...asked, stream: true })) {
      if (event.type.startsWith("response.output_item."))
        seen.push([event.type, "output_index" in event ? event.output_index : undefined]);
      if (event.type === "response.completed")
        expect(event.response.output.map(({ type }) => type)).toEqual(["message"]);
    }
    expect(seen).toEqual([
      ["response.output_item.added", 0],
      ["response.output_item.done", 0],
    ]);
  });

  it("have their open connections counted by host", async () => {
    await say("ada", "hello");
    const text = await curl(`${url.replace(/\/v1$/, "")}/metrics`, "-H", `Authorization: Bearer ${key}`);
    expect(text).toMatch(new RegExp(`^clm_gateway_roads_open\\{host="${host}"\\} [1-9]`, "m"));
  });

  it("answer curl with only the address and the key", async () => {
    const body = JSON.stringify({ model: "ada", messages: [{ role: "user", content: "hello" }] });
    const said = await curl(`${url}/chat/completions`, "-H", `Authorization: Bearer ${key}`, "-d", body);
    expect(JSON.parse(said).choices[0].message.content).toContain("hello");
    // A browser sends Origin, which an agent itself would refuse.
    const named = await curl(
      ...[
        `${url}/chat/completions`,
        "-H",
        `Authorization: Bearer ${key}`,
        "-H",
        "Origin: http://a.example",
        "-d",
        body,
      ],
    );
    expect(JSON.parse(named).choices[0].message.content).toContain("hello");
    expect(await curl(`${url.replace(/\/v1$/, "")}/health`)).toBe(`{"status":"ok"}`);
  });

  it("continue a session by its header", async () => {
    const headers = { "X-Hermes-Session-Id": `gateway-${randomBytes(4).toString("hex")}` };
    await say("ada", "one", { headers });
    const { choices } = await say("ada", "how many turns", { headers });
    expect(choices[0]?.message.content).toBe("turns: 2");
  });

  it("accept an image of 9 MB, and 11 MB is refused before it is sent", async () => {
    const withImage = (bytes: number) => {
      const picture = `data:image/png;base64,${"A".repeat(bytes)}`;
      const content = [
        { type: "text" as const, text: "what is this" },
        { type: "image_url" as const, image_url: { url: picture } },
      ];
      return client().chat.completions.create({ model: "ada", messages: [{ role: "user", content }] });
    };
    expect((await withImage(9_000_000)).choices).toHaveLength(1);
    expect(await codeOf(withImage(11_000_000))).toEqual([413, "body_too_large"]);
    writeFileSync(join(home, "big.json"), Buffer.alloc(11_000_000, 32));
    const words = ["-H", `Authorization: Bearer ${key}`, "--data-binary", `@${home}/big.json`];
    expect(JSON.parse(await curl(`${url}/chat/completions`, ...words)).error.code).toBe("body_too_large");
  });

  it("stop working when the caller leaves", async () => {
    const gone = new AbortController();
    const stream = await client().chat.completions.create(
      { model: "ada", stream: true, messages: [{ role: "user", content: `slowly ${"word ".repeat(200)}` }] },
      { signal: gone.signal },
    );
    for await (const _ of stream) break;
    gone.abort();
    const audit = async () => JSON.parse((await clm(["gateway", "audit", "-o", "json"], { home })).stdout);
    for (;;) {
      const lines: { code?: string; status: number }[] = await audit();
      if (lines.some(({ code, status }) => code === "client_gone" && status === 499)) break;
      await sleep(100);
    }
  });

  it("a second gateway is refused, and names the first", async () => {
    const { code, stderr } = await clm(["gateway", "serve", "--port", "0"], { home });
    expect([code, stderr]).toEqual([
      24,
      expect.stringMatching(/another gateway is running[\s\S]*clm gateway serve \(pid \d+/),
    ]);
  });
});

describe("a change while it serves", () => {
  it("of an agent's key is used by the next request", async () => {
    await say("ada", "before");
    await lab.must("agent", "rotate-key", "ada", "--yes");
    expect((await say("ada", "after")).choices[0]?.message.content).toContain("after");
  });

  it("of a host's address sends nothing to the old one", async () => {
    const { must } = lab;
    const { hosts } = JSON.parse(readFileSync(join(home, "hosts.json"), "utf8")) as {
      hosts: { name: string; address: string }[];
    };
    const addressOf = (wanted: string) => hosts.find(({ name }) => name === wanted)?.address ?? "";
    await say("ada", "before");
    await must("host", "update", host, "--address", addressOf(newer), "--offline");
    // Another machine answers there, and is not taken for the host.
    expect(await codeOf(say("ada", "x"))).toEqual([503, "host_not_trusted"]);
    await must("host", "update", host, "--address", addressOf(host), "--offline");
    for (let answer = await codeOf(say("ada", "x")); answer !== "answered"; answer = await codeOf(say("ada", "x"))) {
      expect(answer).toEqual([503, expect.any(String)]);
      await sleep(200);
    }
  });
});

describe("an outage", () => {
  it("of a stopped or not listening agent is reported at once, and over when it is back", async () => {
    await inHost(host, `systemctl stop ${unitOf("ada")}`);
    expect(await codeOf(say("ada", "x"))).toEqual([503, "agent_stopped"]);
    expect((await say("ben", "still here")).choices[0]?.message.content).toContain("still here");
    await misbehave(host, "ada", "slow-start 4");
    expect(await codeOf(say("ada", "x"))).toEqual([503, expect.stringMatching(/^agent_(stopped|not_listening)$/)]);
    await inHost(host, "rm /home/ada/.hermes/.standin");
    for (let answer = await codeOf(say("ada", "x")); answer !== "answered"; answer = await codeOf(say("ada", "x"))) {
      expect(answer).toEqual([503, expect.any(String)]);
      await sleep(200);
    }
  });

  it("of an agent in the middle of an answer", async () => {
    const stream = await client().chat.completions.create({
      model: "ada",
      stream: true,
      messages: [{ role: "user", content: `slowly ${"word ".repeat(100)}` }],
    });
    const hear = async () => {
      for await (const _ of stream);
    };
    const broken = expect(hear()).rejects.toThrow(/ended in the middle/);
    await sleep(1000);
    await inHost(host, `systemctl kill -s KILL ${unitOf("ada")}`);
    await broken;
    while ((await codeOf(say("ada", "x"))) !== "answered") await sleep(200);
  });

  it.each([
    [
      "reboots",
      async () => {
        await inHost(host, "systemd-run --quiet --on-active=1 systemctl reboot --force");
        return () => {};
      },
    ],
    ["is gone without a word", async () => cutOff(home, host).open],
  ])("of a host that %s under load: each request ends, and traffic resumes by itself", async (_, goDown) => {
    const from = serving.events.length;
    const ends: unknown[] = [];
    let over = false;
    const load = Array.from({ length: 8 }, async () => {
      while (!over) {
        ends.push(await codeOf(say("ada", "x")));
        await sleep(20);
      }
    });
    const others = (async () => {
      while (!over) {
        expect(await codeOf(say("ben", "x"))).toBe("answered");
        await sleep(100);
      }
    })();
    await sleep(1000);
    const comeBack = await goDown();
    await serving.until("lost", from);
    comeBack();
    await serving.until("back", from);
    for (let at = ends.length; !ends.slice(at).includes("answered"); ) await sleep(200);
    over = true;
    await Promise.all([...load, others]);
    const kinds = new Set(ends.map((end) => JSON.stringify(end)));
    expect(kinds.size).toBeGreaterThan(1);
    for (const kind of kinds) {
      expect(kind).toMatch(
        /^("answered"|\[50[234],"(host_unreachable|upstream_broke_off|agent_stopped|agent_not_listening|host_refused_login)"\])$/,
      );
    }
  });
});

describe("afterwards", () => {
  it("the log is complete", async () => {
    await serving.stop();
    expect(serving.over).toMatchObject({ code: 0 });
    expect(serving.events.at(-1)?.event).toBe("stopped");
    const { code, stdout } = await clm(["gateway", "audit", "--verify"], { home });
    expect([code, stdout]).toEqual([0, expect.stringContaining("intact")]);
  });
});
