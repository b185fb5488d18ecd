import { describe, expect, it } from "vitest";
import type { State } from "../../../src/agents/probe/status/judge.js";
import { describeStatus } from "../../../src/cli/agent/status.js";
import { factsOf, identityOfKey, nextFor } from "../../../src/cli/ps/facts.js";
import { hasChanged, lineOf } from "../../../src/cli/ps/watch.js";
// Loaded before the tests begin: a handler that is loaded late counts as their time.
import "../../../src/cli/ps/ps.js";
import { byWorst, countText, fleetColumns } from "../../../src/cli/ps/view.js";
import { Fault } from "../../../src/errors.js";
import type { AgentStatus } from "../../../src/flows/fleet/agent-status.js";
import { agentNameFrom } from "../../../src/names.js";
import { table } from "../../../src/ui/table.js";
import { sampleAgent } from "../state/sample-agent.js";
import { clm } from "./world.js";

const at = "2026-01-02T03:04:05.000Z";
const now = new Date("2026-01-02T03:05:05.000Z");

const found = (name: string, state: State, more: Partial<AgentStatus> = {}): AgentStatus => ({
  agent: { name: agentNameFrom(name), ref: name, host: { name: "wolf-i" } as never, record: sampleAgent(name) },
  state,
  at,
  wanted: "run",
  proofs: [],
  ...more,
});

describe("the table", () => {
  const rows = [
    found("ada", "running"),
    found("a-longer-name", "failed", {
      reason: "nothing listens on port 8642; its last output: ERROR something quite long",
    }),
    found("carl", "unreachable", {
      reason: "cannot reach wolf-i at 192.0.2.1 port 22: no answer in time",
      last: { at, state: "running" },
    }),
  ];
  const drawn = (width: number, signs: "unicode" | "ascii") =>
    table(rows, fleetColumns(rows, { signs, now }), { width }).trimEnd().split("\n");

  it.each([80, 120, 200])("fits %i columns, with name, state and reason", (width) => {
    const lines = drawn(width, "unicode");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines[0]).toMatch(/^AGENT +HOST +STATE .*REASON$/);
    expect(lines[2]).toMatch(/^a-longer-name +wolf-i +✖ failed .*nothing listens on port/);
  });

  it("has a symbol besides the colour, and the last observation", () => {
    expect(drawn(200, "ascii").slice(1)).toEqual([
      expect.stringMatching(/^ada .* \+ running/),
      expect.stringMatching(/ x failed/),
      expect.stringMatching(/ \? unreachable .*; last seen running 1m ago$/),
    ]);
  });
});

it("the worst come first, and stopped ones last", () => {
  const all = [
    ...[
      found("a", "running"),
      found("b", "stopped", { wanted: "rest" }),
      found("c", "degraded"),
      found("d", "exposed"),
    ],
    ...[found("e", "unreachable"), found("f", "stopped"), found("g", "failed")],
  ];
  expect(byWorst(all).map(({ agent }) => agent.name)).toEqual(["d", "g", "e", "c", "f", "b", "a"]);
  expect(countText(all)).toBe(
    "7 agents on 1 host: 1 running, 2 stopped, 1 degraded, 1 unreachable, 1 failed, 1 exposed",
  );
});

describe("a change", () => {
  const up = (seconds: number) => found("ada", "degraded", { reason: `up for ${seconds} s, restarted once` });

  it("is formatted for people", () => {
    expect(hasChanged(up(3), up(8))).toBe(false);
    expect(hasChanged(up(3), found("ada", "running"))).toBe(true);
    expect(hasChanged(up(3), found("ada", "degraded", { reason: "its disk is full" }))).toBe(true);
    const drift = { changes: [{ what: "file .env", differences: [] }], lost: [] };
    expect(hasChanged(found("ada", "running"), found("ada", "running", { drift }))).toBe(true);
  });

  it("is a line", () => {
    expect(lineOf(found("ada", "running"), undefined)).toBe(`${at} wolf-i/ada running`);
    expect(lineOf(found("ada", "failed", { reason: "gone\naway" }), found("ada", "running"))).toBe(
      `${at} wolf-i/ada running -> failed: gone away`,
    );
    expect(lineOf(up(3), up(1))).toBe(`${at} wolf-i/ada degraded: up for 3 s, restarted once`);
  });
});

it.each<[AgentStatus, string | undefined]>([
  [found("ada", "running"), undefined],
  [found("ada", "stopped", { wanted: "rest" }), undefined],
  [found("ada", "stopped"), "clm agent start ada"],
  [found("ada", "stopped", { wanted: "nothing" }), "clm agent configure ada"],
  [found("ada", "unreachable"), "clm host check wolf-i"],
  [found("ada", "failed"), "clm agent doctor ada"],
  [found("ada", "degraded", { drift: { changes: [], lost: [{ what: "x", reason: "y" }] } }), "clm agent diff ada"],
  [found("ada", "degraded", { drift: { unknown: "x", fault: new Fault("not-found", "x") } }), "clm agent doctor ada"],
  [found("ada", "degraded", { drift: { changes: [{ what: "x", differences: [] }], lost: [] } }), "clm agent diff ada"],
])("%# names the next command", (one, next) => expect(nextFor(one)).toBe(next));

it("JSON has null for an agent that was not observed", () => {
  expect(factsOf(found("ada", "unreachable", { last: { at, state: "running" } }))).toMatchObject({
    agent: "wolf-i:hermes:ada",
    state: "unreachable",
    well: false,
    version: null,
    recorded_version: "2026.7.1",
    unit: null,
    memory_bytes: null,
    drift: null,
    last_seen: { state: "running" },
  });
});

const seen = (answers: Record<string, number>, more: object = {}): Pick<AgentStatus, "observation" | "proofs"> => ({
  observation: {
    basics: { answers, listeners: [], unit: {} },
    channels: {},
    words: [],
    strays: { count: 0, first: [] },
    ...more,
  } as never,
  proofs: [{ id: "auth.own-key", result: answers.own === 200 ? "ok" : "fail", reason: "" }],
});

it.each([
  ["proven", { own: 200 }],
  ["refused", { own: 401 }],
  ["refused", { own: 403 }],
  [undefined, { own: 0 }],
  [undefined, { own: 500 }],
  [undefined, {}],
])("its key is %s by %o", (identity, answers) => {
  expect(identityOfKey(found("ada", "failed", seen(answers)))).toBe(identity);
});

it("shows the time of the last key check apart from the last observation", () => {
  expect(
    factsOf(found("ada", "running", { ...seen({ own: 200 }), provenAt: "2026-01-02T03:03:10.000Z" })),
  ).toMatchObject({
    seen_at: at,
    proven_at: "2026-01-02T03:03:10.000Z",
  });
});

it("shows for each provider whether it was reached or not asked", () => {
  const fallbacks = [{ provider: "spare" }, { provider: "cloud" }];
  const record = sampleAgent("ada", { provider: "echo", fallbacks });
  const agent = { ...found("ada", "degraded").agent, record };
  const reach = { reach: { status: 401 }, others: { spare: { trouble: "nothing answers there" } } };
  const text = describeStatus(found("ada", "degraded", { agent, ...seen({ own: 200 }, reach) }), now);
  expect(text).toContain(
    [
      "Reached:     yes, from the host (401)",
      "             spare: no: nothing answers there",
      "             cloud: not checked: its address is unknown",
    ].join("\n"),
  );
});

it("an empty fleet is no error", async () => {
  const env = { HOME: "/nowhere", CLM_HOME: "/nowhere/clm" };
  expect(await clm(["ps", "-o", "json"], { env })).toMatchObject({ code: 0, stdout: "[]\n" });
  expect(await clm(["ps"], { env })).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("No agents yet"),
  });
  expect(await clm(["ps", "--watch", "-o", "yaml"], { env })).toMatchObject({ code: 2 });
});
