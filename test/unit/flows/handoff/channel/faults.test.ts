import { describe, expect, it } from "vitest";
import type { ChannelReply } from "../../../../../src/agents/handoff/store.js";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import type { AgentTarget } from "../../../../../src/flows/agent/target.js";
import { type ChannelHandoff, conflictWith, outcomeFault } from "../../../../../src/flows/handoff/channel/faults.js";
import { mustHaveChannel } from "../../../../../src/flows/handoff/channel/possible.js";
import { agentNameFrom } from "../../../../../src/names.js";
import type { Agent } from "../../../../../src/state/agents.js";
import { faultOf, scratchDirectories } from "../../../state/scratch.js";

const freshDirectory = scratchDirectories();

async function target(version: string, channels?: Agent["record"]["channels"]): Promise<AgentTarget> {
  const { manifest } = await loadType(freshDirectory(), "hermes");
  const record = {
    type: "hermes",
    version,
    status: "installed",
    user: "ada",
    home: "/home/ada",
    unit: "hermes-ada.service",
    port: 8642,
    onboarding: { state: "ready", stages: {} },
    ...(channels && { channels }),
  } as Agent["record"];
  const agent = { name: agentNameFrom("ada"), host: { name: "lab-1" } as Agent["host"], record, ref: "ada" };
  return { agent, resolved: resolvedAgent(manifest, agent) };
}

describe("the channel of a handoff", () => {
  it("is one of the agent's channels", async () => {
    mustHaveChannel(await target("2026.7.1", { discord: {} }), "discord");
  });

  it.each<[string, string, Agent["record"]["channels"], string, string, string, string]>([
    [
      "an old version",
      "2026.5.7",
      { discord: {} },
      "discord",
      "unsupported",
      "does not hand",
      "clm registry show hermes",
    ],
    ["a misspelt one", "2026.7.1", { discord: {} }, "discrod", "not-found", "'discrod'", "clm agent channels"],
    ["no field of an object", "2026.7.1", {}, "toString", "not-found", "'toString'", "clm agent channels"],
    [
      "another than its own",
      "2026.7.1",
      { slack: {} },
      "discord",
      "not-ready",
      "no channel",
      "clm agent configure ada --channel discord",
    ],
    [
      "one of an agent with none",
      "2026.7.1",
      undefined,
      "discord",
      "not-ready",
      "no channel",
      "clm agent configure ada --channel discord",
    ],
  ])("is not %s", async (_, version, channels, channel, name, what, next) => {
    const id = await target(version, channels);
    const fault = await faultOf(() => mustHaveChannel(id, channel));
    expect([fault.fault, fault.next]).toEqual([name, [next]]);
    expect(fault.message).toContain(what);
  });
});

describe("the message about a request", () => {
  const asked = async (): Promise<ChannelHandoff> => ({
    ...(await target("2026.7.1", { discord: {} })),
    channel: "discord",
    session: "s 1",
    wait: 90,
  });
  const again = "clm handoff ada --to-channel discord --session 's 1'";

  it.each<[ChannelReply, string, string]>([
    [
      { outcome: "failed", error: "no home channel configured for discord; …" },
      "remote-failed",
      "clm agent configure ada --channel discord --set discord.home_channel=ID",
    ],
    [
      { outcome: "failed", error: "platform 'discord' is not active in this gateway" },
      "remote-failed",
      "clm agent doctor ada",
    ],
    [{ outcome: "failed", error: null }, "remote-failed", "clm agent logs ada"],
    [{ outcome: "timed-out" }, "remote-timeout", "clm agent doctor ada"],
    [{ outcome: "stuck" }, "remote-timeout", `${again} --reset`],
    [{ outcome: "replaced", state: "pending", platform: "slack" }, "conflict", again],
    [{}, "conflict", again],
  ])("%j", async (said, name, next) => {
    const fault = outcomeFault(await asked(), said);
    expect([fault.fault, fault.next]).toEqual([name, [next]]);
  });

  it("that is another's, or unknown, names its state", async () => {
    const left = outcomeFault(await asked(), { outcome: "left-pending" });
    expect([left.fault, left.next[0], left.why.join()]).toEqual([
      ...["remote-timeout", again, expect.stringContaining("so it was kept")],
    ]);
    const locked = outcomeFault(await asked(), {
      outcome: "database-locked",
      state: "pending",
      error: "database is locked",
    });
    expect([locked.fault, locked.why]).toEqual([
      "remote-failed",
      ["database is locked", "when last read, the request for session s 1 was pending"],
    ]);
  });

  it("is that of the agent itself, word for word", async () => {
    expect(outcomeFault(await asked(), { outcome: "failed", error: "the moon is full" }).why).toEqual([
      "the moon is full",
    ]);
  });

  it.each<[string | null, string | null, string | undefined]>([
    [null, null, undefined],
    ["completed", "slack", undefined],
    ["failed", "discord", undefined],
    ["pending", "discord", undefined],
    ["pending", "slack", "clm handoff ada --to-channel slack --session 's 1'"],
    ["running", "discord", `${again} --reset`],
    ["running", "slack", `${again} --reset`],
  ])("for one that was %s for %s", async (state, platform, next) => {
    expect(conflictWith(await asked(), { state, platform })?.next[0]).toBe(next);
  });
});
