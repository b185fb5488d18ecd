import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { logLines, logObject } from "../../../../src/cli/agent/logs.js";
import { parseTime } from "../../../../src/cli/parse-time.js";
import type { AgentLogEntry } from "../../../../src/flows/logs/logs.js";
import { hostNameFrom } from "../../../../src/names.js";
import type { Agent } from "../../../../src/state/agents.js";
import { hostStore } from "../../../../src/state/hosts.js";
import { createPaint } from "../../../../src/ui/paint.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { clm } from "../world.js";

const freshDirectory = scratchDirectories();

const now = new Date("2026-11-16T12:00:00Z");
const moments = parse(readFileSync("test/cases/logs/moments.yaml", "utf8")) as {
  text: string;
  ago?: number;
  at?: string;
}[];

it.each(moments)("--since $text", ({ text, ago, at }) => {
  const read = () => parseTime("--since", text, { now, utc: true });
  if (ago !== undefined) expect(read()).toEqual({ ago });
  else if (at !== undefined) expect(read()).toEqual({ at: Date.parse(at) / 1000 });
  else expect(read).toThrow("is not a time");
});

it.each([
  [["--grep", "("], "is not a regular expression"],
  [["--since", "soon"], "--since soon is not a time"],
  [["--until", "2026-02-30"], "--until 2026-02-30 is not a time"],
  [["--since", "1h", "--until", "2h"], "--until is before --since"],
  [["--level", "loud"], "loud"],
  [["--lines", "-1"], "-1"],
  [["-f", "--until", "1h"], "--follow and --until contradict each other"],
])("%j is refused before it is even asked which agent", async (words, why) => {
  const { code, stderr } = await clm(["agent", "logs", "nobody", ...words]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
});

it("--source that the agent's type does not have is refused before its host is asked", async () => {
  const dir = freshDirectory();
  // Nothing listens there.
  const host = {
    name: hostNameFrom("wolf"),
    address: "127.0.0.1",
    port: 9,
    labels: {},
    added_at: "",
    sudo: "passwordless" as const,
  };
  await hostStore(dir).update((fleet) => ({ ...fleet, hosts: [{ ...host, agents: { ada: sampleAgent("ada") } }] }));
  const { code, stderr } = await clm(["agent", "logs", "ada", "--source", "elsewhere", "--config-dir", dir]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("elsewhere is not a log source")]);
  expect(stderr).toContain("journal, agent, gateway, errors, mcp-stderr");
});

describe("an entry", () => {
  const agent = (host: string, name: string) => ({ name, host: { name: host } }) as Agent;
  const [ada, cora] = [agent("wolf", "ada"), agent("fox", "cora")];
  const told = (text: string, more: Partial<AgentLogEntry> = {}): AgentLogEntry => ({
    agent: ada,
    at: Date.parse("2026-11-16T10:00:00.123Z"),
    level: "warning",
    source: "agent",
    text,
    ...more,
  });

  it("is time, level and text", () => {
    expect(logLines({ utc: true, agents: [ada] })(told("a: b"))).toBe("2026-11-16T10:00:00Z WARNING a: b\n");
  });

  it("has the agent's name on every line when there are several", () => {
    const line = logLines({ utc: true, agents: [ada, cora] });
    expect(line(told("a: b\n  c", { level: "error" }))).toBe(
      "wolf/ada | 2026-11-16T10:00:00Z ERROR   a: b\nwolf/ada |   c\n",
    );
    expect(line(told("x", { agent: cora, level: "info" }))).toBe("fox/cora | 2026-11-16T10:00:00Z INFO    x\n");
  });

  it("has the same colour whichever agents are shown", () => {
    const paint = createPaint(true);
    const [two, three] = [
      [ada, cora],
      [cora, ada, agent("owl", "eve")],
    ].map((agents) => logLines({ utc: true, agents, paint })(told("a: b")));
    expect(two).toContain("\u001b[33mWARNING\u001b[39m");
    expect(two).toBe(three);
  });

  it("moves no cursor", () => {
    const nasty = told("a\u001b[2Jb\u001b]0;title\u0007c\rd\u202e");
    expect(logLines({ utc: true, agents: [ada] })(nasty)).toBe("2026-11-16T10:00:00Z WARNING abcd\n");
    expect(logObject(nasty)).toMatchObject({ message: "abcd" });
  });

  it("is an object for a program", () => {
    expect(logObject(told("[s1] gateway.run: slow"))).toEqual({
      time: "2026-11-16T10:00:00.123Z",
      agent: "ada",
      host: "wolf",
      level: "warning",
      source: "agent",
      logger: "gateway.run",
      message: "slow",
    });
  });

  it("without a known time has none", () => {
    const lost = told("a: b", { at: Number.NaN });
    expect(logLines({ utc: true, agents: [ada] })(lost)).toMatch(/^- {19}WARNING a: b\n$/);
    expect(logObject(lost)).toMatchObject({ time: null, message: "b" });
  });
});
