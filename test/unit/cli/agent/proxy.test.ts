import { beforeEach, describe, expect, it } from "vitest";
import { hostNameFrom } from "../../../../src/names.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import { hostStore } from "../../../../src/state/hosts.js";
import { sampleAgent } from "../../state/sample-agent.js";
import { scratchDirectories } from "../../state/scratch.js";
import { clm } from "../world.js";

const freshDirectory = scratchDirectories();
let dir: string;
beforeEach(async () => {
  dir = freshDirectory();
  const record = (name: string, more: Partial<AgentRecord> = {}) => sampleAgent(name, { mark: "0badcafe", ...more });
  const agents = {
    old: record("old", { version: "2026.5.7" }),
    mid: record("mid", { version: "2026.5.16", port: 8643 }),
    ada: record("ada", { port: 8647, proxy: { provider: "nous", port: 8700 } }),
    ben: record("ben", { port: 8648, status: "installing" }),
    eve: record("eve", { port: 8649 }),
  };
  // Nothing listens there: asking the host fails.
  const at = { address: "127.0.0.1", port: 9, labels: {}, added_at: "2026-01-01T00:00:00.000Z" };
  const hosts = [{ name: hostNameFrom("wolf"), ...at, sudo: "passwordless" as const, agents }];
  await hostStore(dir).update((fleet) => ({ ...fleet, hosts }));
});

const proxy = (...words: string[]) => clm(["agent", "proxy", ...words, "--config-dir", dir]);

describe("clm agent proxy", () => {
  it.each([
    [["old", "enable", "--provider", "nous"], 17, "Hermes Agent 2026.5.7 has none; versions >=2026.5.16 do"],
    [["old", "status"], 17, "Hermes Agent 2026.5.7 has none; versions >=2026.5.16 do"],
    [["mid", "enable", "--provider", "xai"], 17, "Hermes Agent 2026.5.16 cannot; versions >=2026.5.29 can"],
    [["eve", "enable", "--provider", "openai"], 2, "no proxy lends 'openai'"],
    [["eve", "enable"], 2, "--provider is missing: name the provider whose login the proxy uses"],
    [["ben", "enable", "--provider", "nous"], 8, "is not installed yet"],
    [["eve", "status", "--provider", "nous"], 2, "--provider"],
    [["eve", "start"], 2, "agent proxy has no command"],
    [["nobody", "status"], 4, "no agent is called 'nobody'"],
  ])("%j is refused before any host is asked", async (words, exit, said) => {
    const before = hostStore(dir).read();
    const { code, stderr } = await proxy(...words);
    expect(stderr).toContain(said);
    expect(code).toBe(exit);
    expect(hostStore(dir).read()).toEqual(before);
  });

  it("an agent with a proxy needs no provider option: the command reaches the host", async () => {
    expect((await proxy("ada", "enable")).stderr).not.toContain("--provider is missing");
  });

  it("removes nothing where there is none, and asks no host", async () => {
    const { code, stderr } = await proxy("eve", "disable");
    expect(stderr).toContain("eve has no proxy; nothing was changed");
    expect(code).toBe(0);
  });

  it("the record is shown", async () => {
    const show = (...words: string[]) => clm(["agent", "show", "ada", ...words, "--config-dir", dir]);
    expect((await show()).stdout).toMatch(/^Proxy: +nous, 127\.0\.0\.1:8700 on wolf$/m);
    expect(JSON.parse((await show("-o", "json")).stdout)).toMatchObject({ proxy: { provider: "nous", port: 8700 } });
  });
});
