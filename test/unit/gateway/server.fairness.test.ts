import { describe, expect, it } from "vitest";
import { Refusal } from "../../../src/gateway/request/refusal.js";
import { betweens } from "./between.js";
import { agentThatRepeats, burst } from "./hostile.js";
import { ask, begin, chat, keyOf, says, served, type TestGateway, talk } from "./test-gateway.js";

const { between } = betweens();

const two = { good: keyOf({ id: "aaaaaaaa" }), other: keyOf({ id: "bbbbbbbb", name: "other" }) };

/** The longest call of another key meanwhile. */
async function slowest(gateway: TestGateway, count: number, model = "ben"): Promise<number> {
  let most = 0;
  for (let n = 0; n < count; n++) {
    const began = performance.now();
    expect((await talk(gateway, { key: "other", body: chat({ model }) })).status).toBe(200);
    most = Math.max(most, performance.now() - began);
  }
  return most;
}

describe("640 calls of one key", () => {
  it("keep no other key waiting for more than a turn", async () => {
    const { up, gateway } = await between(
      // Of 640 calls that take 200 ms each, 32 at once, the last is answered after four seconds.
      (response, asked) => void setTimeout(() => says("hello")(response, asked), 200),
      { keys: two },
    );
    const flood = burst(gateway, 640, () => ({ body: chat() }));
    await Promise.race(flood);
    expect((await talk(gateway, { key: "other" })).status).toBe(200);
    // It came to the agent when most of the flood was still to come, and not behind it.
    expect(up.asked.length).toBeLessThan(500);
    expect(new Set(await Promise.all(flood))).toEqual(new Set([200]));
  });

  it("run no more at once than the key may have", async () => {
    let underWay = 0;
    let highest = 0;
    const { gateway } = await between(
      (response, asked) => {
        highest = Math.max(highest, ++underWay);
        setTimeout(() => {
          underWay--;
          says("hello")(response, asked);
        }, 20);
      },
      { keys: { good: keyOf({ concurrency: 3 }) } },
    );
    expect(new Set(await Promise.all(burst(gateway, 30, () => ({ body: chat() }))))).toEqual(new Set([200]));
    expect(highest).toBe(3);
  });

  it("are refused where they are more than the gateway holds for a key, and others are not", async () => {
    const { gateway } = await between(() => {}, {
      keys: two,
      agents: [served(), served({ name: "ben", word: "ben" })],
      settings: { traffic: { requests: 20 } },
    });
    const flood = burst(gateway, 40, () => ({ body: chat() }));
    const first = await Promise.race(flood);
    expect(first).toBe(429);
    const refused = gateway.lines.map(({ ending }) => [ending.status, ending.code]);
    expect(refused).toContainEqual([429, "too_many_pending"]);
    const { status, headers } = await ask(gateway, "/v1/chat/completions", { body: chat() });
    expect([status, headers["retry-after"]]).toEqual([429, "2"]);
    expect((await ask(gateway, "/v1/models", { key: "other" })).status).toBe(200);
    await gateway.stop();
    await Promise.allSettled(flood);
  });
});

it("signed calls of one key, or in its name, take no room from another's", async () => {
  const signers = { aaaaaaaa: two.good, bbbbbbbb: two.other };
  const { gateway } = await between(() => {}, {
    parts: {
      async signed({ headers }) {
        if (headers["x-clm-signature"] === "forged") throw new Refusal(401, "signature_invalid", "no");
        const key = signers[headers["x-clm-key"] as keyof typeof signers];
        return { key, nonce: "" };
      },
    },
    settings: { traffic: { requests: 5 } },
  });
  const signed = (id: string, signature: string) => ({
    key: "",
    body: chat(),
    headers: { "x-clm-key": id, "x-clm-signature": signature },
  });
  const refusals = () => gateway.lines.filter(({ ending }) => ending.code === "too_many_pending").length;
  const flood = burst(gateway, 8, () => signed("aaaaaaaa", "right"));
  await expect.poll(refusals).toBe(3);
  const other = burst(gateway, 5, () => signed("bbbbbbbb", "right"));
  await expect.poll(() => gateway.opened()).toEqual([["wolf-i", 10]]);
  expect(refusals()).toBe(3);
  // One that is forged is judged, and not refused for want of room.
  expect(await burst(gateway, 1, () => signed("aaaaaaaa", "forged"))[0]).toBe(401);
  await gateway.stop();
  await Promise.allSettled([...flood, ...other]);
});

describe("an agent that repeats", () => {
  const texts: [about: string, text: string][] = [
    ["empty lines", "\n"],
    ["empty lines of another kind", "\r\n"],
    ["comments", ":\n"],
    ["empty events", "data:\n\n"],
    ["lines of an event that does not end", "data: x\n"],
    ["a line that does not end", "x"],
    ["events with millions of lists", `data: ${"[".repeat(50_000)}${"]".repeat(50_000)}\n\n`],
  ];
  it.each(texts)("%s keeps no other agent's callers waiting", async (_about, text) => {
    const repeats = agentThatRepeats(text);
    const { gateway } = await between(
      (response, asked) => (asked.body.includes('"ada"') ? repeats(response, asked) : says("hello")(response, asked)),
      {
        keys: two,
        agents: [served(), served({ name: "ben", word: "ben" })],
        settings: { traffic: { streamBytes: 32 * 1024 * 1024 } },
      },
    );
    const streams = await Promise.all(
      [1, 2, 3].map(() => begin(gateway, "/v1/chat/completions", { body: chat({ stream: true }) })),
    );
    for (const { answer } of streams) answer.on("error", () => {}).resume();
    // Seconds on any machine; without a share it would be the length of the whole answer.
    expect(await slowest(gateway, 20)).toBeLessThan(2000);
    for (const { asked } of streams) asked.destroy();
  });

  it("is cut where its answer is longer than any may be", async () => {
    const { gateway } = await between(agentThatRepeats("data: x\n\n"), {
      settings: { traffic: { streamBytes: 1_000_000 } },
    });
    const { text, whole } = await talk(gateway, { body: chat({ stream: true }) });
    expect([whole, text.includes("answer_too_large"), text.length < 1_200_000]).toEqual([false, true, true]);
    expect(gateway.lines[0]?.ending).toMatchObject({ status: 502, code: "answer_too_large" });
  });

  it("is cut at the deadline although it sends all the time", async () => {
    const { gateway } = await between(
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const timer = setInterval(() => response.write(": still there\n\n"), 10);
        response.on("close", () => clearInterval(timer));
      },
      { settings: { total: 200, silence: 60_000 } },
    );
    const { text } = await talk(gateway, { body: chat({ stream: true }) });
    expect(text).toContain("answer_deadline");
    expect(gateway.lines[0]?.ending).toMatchObject({ status: 504, code: "answer_deadline" });
  });
});

describe("an agent that answers nothing", () => {
  it("is given up after the time to the first byte", async () => {
    const { gateway } = await between(() => {}, { settings: { firstByte: 100, silence: 60_000 } });
    expect((await talk(gateway)).text).toContain("upstream_timeout");
  });

  it("but that it changes the protocol is no answer, and is not waited for", async () => {
    const { gateway } = await between(
      (response) => {
        response.socket?.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
      },
      { settings: { silence: 60_000 } },
    );
    const { status, text } = await talk(gateway);
    expect([status, text]).toEqual([502, expect.stringContaining("upstream_error")]);
  });

  it("but endless progress is cut", async () => {
    const { gateway } = await between(
      (response) => {
        const { socket } = response;
        const timer = setInterval(() => socket?.write("HTTP/1.1 102 Processing\r\n\r\n"), 50);
        socket?.on("close", () => clearInterval(timer)).on("error", () => {});
      },
      { settings: { firstByte: 200, silence: 60_000 } },
    );
    expect((await talk(gateway)).text).toContain("upstream_timeout");
  });
});

it("a body of millions of lists is refused, and delays no other", async () => {
  const { gateway } = await between(says("hello"), { keys: two, agents: [served({ name: "ben", word: "ben" })] });
  const deep = `{"model":"ben","messages":${"[".repeat(4_900_000)}${"]".repeat(4_900_000)}}`;
  const wide = `{"model":"ben","messages":[${"[],".repeat(3_200_000)}[]]}`;
  for (const body of [deep, wide]) {
    const before = process.memoryUsage().rss;
    const sent = burst(gateway, 4, () => ({ body }));
    expect(await slowest(gateway, 5)).toBeLessThan(2000);
    expect(await Promise.all(sent)).toEqual([400, 400, 400, 400]);
    // The bodies themselves, and no tree of a hundred times their length.
    expect(process.memoryUsage().rss - before).toBeLessThan(400e6);
  }
});
