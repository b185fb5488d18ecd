import { describe, expect, it } from "vitest";
import type { ModelFacts } from "../../../src/agents/manifest/models.js";
import { Allowance } from "../../../src/gateway/allowance/allowance.js";
import type { GatewayKey } from "../../../src/gateway/request/gateway-key.js";
import { usageInMemory } from "./allowance/no-usage.js";
import { betweens } from "./between.js";
import { agentThatClaims, agentWithHistory, burst, type Sent } from "./hostile.js";
import { chat, keyOf, served, type TestGatewayOptions, talk } from "./test-gateway.js";

const { between } = betweens();

/** A tenth of a cent for each token. */
const dear: ModelFacts = { input: 1000, output: 1000 };

/** A gateway with the real allowance. */
function limited(key: Partial<GatewayKey>, facts: ModelFacts = dear) {
  const usage = usageInMemory();
  const allowance = new Allowance({ models: () => ({ of: () => facts }), usage, now: () => new Date() });
  const options: TestGatewayOptions = { keys: { good: keyOf(key) }, agents: [served()], parts: { allowance } };
  return { usage, options };
}

const history = 100_000;
const call = history + 10;

describe("200 calls at once to sessions of 100,000 tokens pass a limit by one call at most", () => {
  const small = chat({ messages: [{ role: "user", content: "go on" }] });
  const responses = (more: object) => JSON.stringify({ model: "ada", input: "go on", ...more });
  const ways: [about: string, make: (index: number) => Sent][] = [
    ["sessions of one's own", (index) => ({ body: small, headers: { "x-hermes-session-id": `s${index}` } })],
    ["one session", () => ({ body: small, headers: { "x-hermes-session-id": "s" } })],
    [
      "conversations",
      (index) => ({ path: "/v1/responses", body: responses({ conversation: `c${index}`, store: true }) }),
    ],
    [
      "earlier responses",
      (index) => ({ path: "/v1/responses", body: responses({ previous_response_id: `resp_x${index}` }) }),
    ],
    [
      "the same, streamed",
      (index) => ({ body: chat({ stream: true }), headers: { "x-hermes-session-id": `s${index}` } }),
    ],
    [
      "responses, streamed",
      (index) => ({ path: "/v1/responses", body: responses({ conversation: `c${index}`, stream: true }) }),
    ],
  ];
  const limits: [of: string, key: Partial<GatewayKey>, most: number][] = [
    ["tokens", { tokens_per_day: 50_000 }, 50_000],
    ["tokens, of which some calls fit in", { tokens_per_day: 1_050_000 }, 1_050_000],
    ["USD", { budget: { usd: 50, per: "day" } }, 50_000],
    ["USD, of which some calls fit in", { budget: { usd: 1050, per: "ever" } }, 1_050_000],
  ];
  for (const [of, key, most] of limits) {
    it.each(ways)(`${of}: %s`, async (_about, make) => {
      const { usage, options } = limited(key);
      const { gateway } = await between(agentWithHistory(history), options);
      // The key's calls to this agent have been small until now.
      usage.take({ seq: 1, at: 0, key: keyOf(), target: "wolf-i/ada", status: 200, tokens: { input: 20, output: 5 } });
      const statuses = await Promise.all(burst(gateway, 200, make));
      expect([...new Set(statuses)].sort()).toEqual([200, 429]);
      expect(usage.owed().tokens).toBeGreaterThanOrEqual(most);
      expect(usage.owed().tokens).toBeLessThanOrEqual(most + call);
    });
  }

  it("sessions that are known to be large do not run one by one while much is left", async () => {
    const { usage, options } = limited({ tokens_per_day: 100 * history });
    const answer = agentWithHistory(history);
    /** Calls that the agent has not answered; it answers once there are `awaited` of them. */
    const waiting: (() => void)[] = [];
    let awaited = 1;
    let highest = 0;
    const answerAll = () => {
      for (const each of waiting.splice(0)) each();
    };
    const { gateway } = await between((response, asked) => {
      waiting.push(() => answer(response, asked));
      highest = Math.max(highest, waiting.length);
      // Not at once, so that one call too many would be counted.
      if (waiting.length >= awaited) setTimeout(answerAll, 50);
    }, options);
    const make = (index: number): Sent => ({ body: small, headers: { "x-hermes-session-id": `s${index % 10}` } });
    for (let session = 0; session < 10; session++) await Promise.all(burst(gateway, 1, () => make(session)));
    expect(highest).toBe(1);
    awaited = 8;
    expect(await Promise.all(burst(gateway, 40, make))).toEqual(Array(40).fill(200));
    expect(highest).toBe(8);
    expect(usage.owed().tokens).toBe(50 * call);
  });
});

describe("the usage reported by an agent", () => {
  const claims: [about: string, input: unknown, output: unknown, counted: object][] = [
    ["what is possible", 150_000, 2000, { input: 150_000, output: 2000 }],
    ["billions", 1e9, 1e9, { input: 200_000, output: 200_000, claimed: { input: 1e9, output: 1e9 } }],
    ["more than can be counted", 1e300, 10, { estimated: true }],
    ["less than nothing", -5, 10, { estimated: true }],
    ["a fraction", 0.5, 10, { estimated: true }],
    ["a text", "1e9", 10, { estimated: true }],
  ];
  it.each(claims)("%s", async (_about, input, output, counted) => {
    const { usage, options } = limited({ budget: { usd: 1e6, per: "month" } }, { ...dear, context: 200_000 });
    const { gateway } = await between(agentThatClaims(input, output), options);
    expect((await talk(gateway)).status).toBe(200);
    const tokens = gateway.lines[0]?.ending.tokens;
    // An agent has as many windows as the seconds it worked, and one more.
    const rounded = (value: number) => (value > 200_000 && value < 2_000_000 ? 200_000 : value);
    expect({ ...tokens, input: rounded(tokens?.input ?? 0), output: rounded(tokens?.output ?? 0) }).toMatchObject(
      counted,
    );
    expect(usage.owed().tokens).toBe((tokens?.input ?? 0) + (tokens?.output ?? 0));
    expect(usage.owed().tokens).toBeLessThan(4_000_000);
  });
});

describe("a caller that leaves before the end", () => {
  it("pays for the known size of the session", async () => {
    const { usage, options } = limited({ tokens_per_day: 1_000_000 });
    const answer = agentWithHistory(history);
    let hangs = false;
    const { gateway } = await between((response, asked) => {
      if (!hangs) return answer(response, asked);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "hello" } }] })}\n\n`);
    }, options);
    const headers = { "x-hermes-session-id": "s" };
    await talk(gateway, { headers });
    hangs = true;
    const { begin } = await import("./test-gateway.js");
    const { asked, answer: head } = await begin(gateway, "/v1/chat/completions", {
      headers,
      body: chat({ stream: true }),
    });
    await new Promise((resolve) => head.once("data", resolve));
    head.on("error", () => {});
    asked.destroy();
    while (gateway.lines.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(gateway.lines[1]?.ending).toMatchObject({ code: "client_gone", tokens: { estimated: true } });
    expect(usage.owed().tokens).toBeGreaterThan(2 * history);
  });
});
