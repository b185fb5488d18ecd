import { describe, expect, it } from "vitest";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { withState } from "../../../../../src/flows/agent/agent-record.js";
import { type Changes, draftOf, noChanges } from "../../../../../src/flows/agent/configure/changes.js";
import { stageResults, stagesTo, withStages } from "../../../../../src/flows/agent/configure/stages.js";
import { interview } from "../../../../../src/flows/agent/configure/wizard.js";
import type { Session } from "../../../../../src/flows/session.js";
import type { AgentRecord } from "../../../../../src/state/agent.js";
import { sampleAgent } from "../../../state/sample-agent.js";

const { manifest } = await loadType("/nowhere", "hermes");
const now = new Date("2026-01-01T00:00:00Z");
const providers = { version: 1 as const, providers: { main: { type: "openrouter", model: "m", fields: {} } } };

const fresh = sampleAgent("wolf");

const host = { name: "den", address: "192.0.2.1", labels: {}, added_at: "", sudo: "passwordless" as const, agents: {} };
const agent = resolvedAgent(manifest, { name: "wolf", ref: "wolf", host, record: fresh });

/** Nobody is there to be asked. */
const session = {
  ui: { interactive: false },
  now: () => now,
  providers: { read: () => providers },
} as unknown as Session;

/** What a run of configure makes of the record before anything is rendered. */
async function answered(record: AgentRecord, stage?: "providers" | "channels", said: Partial<Changes> = {}) {
  const changes = { ...noChanges(), ...said };
  const stages = stagesTo(manifest, record, changes, stage);
  const asked = await interview(session, changes, { resolved: agent, record, stages, named: stage });
  return withStages(draftOf(agent, providers as never, record, asked).record, manifest.stages, now);
}

const resultsOf = (record: AgentRecord) =>
  stageResults(agent, record, { was: fresh, tests: {}, proofs: [], dryRun: false }).map(({ name, result }) => [
    name,
    result,
  ]);

describe("stages", () => {
  it("by flags alone are all gone through, the channels with the API as the only one", async () => {
    const record = await answered(fresh, undefined, { provider: "main" });
    expect(record.onboarding.state).toBe("validate");
    expect(resultsOf(record)).toEqual([
      ["providers", "complete"],
      ["identity", "skipped"],
      ["channels", "complete"],
      ["validate", "open"],
    ]);
  });

  it("that were skipped stay open, and the next run continues with them", async () => {
    const record = await answered(fresh, "providers", { provider: "main" });
    expect(record.onboarding.state).toBe("channels");
    expect(Object.keys(record.onboarding.stages).sort()).toEqual(["identity", "providers"]);
    expect(resultsOf(record)).toContainEqual(["channels", "open"]);
    const next = await answered(record);
    expect(next.onboarding.state).toBe("validate");
    expect(next.onboarding.stages.providers).toEqual(record.onboarding.stages.providers);
    expect(next.onboarding.stages.channels?.result).toBe("complete");
  });

  it("that are done stay as they were, byte by byte", async () => {
    const done = await answered(fresh, undefined, { provider: "main" });
    const ready: AgentRecord = { ...done, onboarding: { ...done.onboarding, state: "ready" } };
    for (const stage of [undefined, "providers", "channels"] as const) {
      expect(JSON.stringify(await answered(ready, stage))).toBe(JSON.stringify(ready));
    }
  });
});

describe("the last stage", () => {
  const proofs = [{ id: "chat" as const, result: "ok" as const, reason: "it answered" }];
  const validated = (state: "ready" | "validate", dryRun = false) =>
    stageResults(agent, { ...fresh, onboarding: { state, stages: {} } }, { was: fresh, tests: {}, proofs, dryRun }).at(
      -1,
    );

  it("is complete when all was proven", () => {
    expect(validated("ready")).toMatchObject({ result: "complete", reason: "1 proofs" });
    expect(validated("validate", true)).toMatchObject({ result: "complete" });
  });

  it("is open when the proofs are of an older configuration", () => {
    const reason = expect.stringContaining("a provider was changed meanwhile");
    expect(validated("validate")).toEqual({ name: "validate", result: "open", reason });
  });
});

describe("the proofs are no longer valid", () => {
  const at = now.toISOString();
  const stages = Object.fromEntries(
    ["providers", "identity", "channels", "validate"].map((name) => [name, { result: "complete" as const, at }]),
  );
  const inState = (state: AgentRecord["onboarding"]["state"], more = stages) => ({
    ...fresh,
    onboarding: { state, stages: more },
  });

  it.each(["ready", "validate"] as const)("of an agent that is %s: it is to be validated again", (state) => {
    const { onboarding } = withState(inState(state), "validate");
    expect([onboarding.state, Object.keys(onboarding.stages)]).toEqual([
      "validate",
      ["providers", "identity", "channels"],
    ]);
  });

  it("nor its provider: that stage is open too", () => {
    const { onboarding } = withState(inState("ready"), "providers");
    expect([onboarding.state, Object.keys(onboarding.stages)]).toEqual(["providers", ["identity", "channels"]]);
  });

  it("of an agent that did not come so far: it stays where it is", () => {
    const early = inState("channels", {});
    expect(withState(early, "validate")).toBe(early);
  });
});
