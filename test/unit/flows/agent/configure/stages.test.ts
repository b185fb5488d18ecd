import { describe, expect, it } from "vitest";
import { loadType } from "../../../../../src/agents/manifest/registry.js";
import { resolvedAgent } from "../../../../../src/agents/plan/resolved-agent.js";
import { withState } from "../../../../../src/flows/agent/agent-record.js";
import { type Changes, draftOf, noChanges } from "../../../../../src/flows/agent/configure/changes.js";
import { stageResults, stagesTo, withStages } from "../../../../../src/flows/agent/configure/stages.js";
import { interview } from "../../../../../src/flows/agent/configure/wizard.js";
import type { Session } from "../../../../../src/flows/session.js";
import { agentNameFrom } from "../../../../../src/names.js";
import type { AgentRecord } from "../../../../../src/state/agent.js";
import { manifest as program, sampleProgram } from "../../../agents/program/program-agent.js";
import { sampleAgent, sampleHost } from "../../../state/sample-agent.js";

const { manifest } = await loadType("/nowhere", "hermes");
const now = new Date("2026-01-01T00:00:00Z");
const providers = { version: 1 as const, providers: { main: { type: "openrouter", model: "m", fields: {} } } };

const fresh = sampleAgent("wolf");

const host = sampleHost("den");
const agent = resolvedAgent(manifest, { name: agentNameFrom("wolf"), ref: "wolf", host, record: fresh });

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

describe("a type that asks only for settings", () => {
  const bot = sampleProgram();
  const programAgent = resolvedAgent(program, { name: agentNameFrom("bot"), ref: "bot", host, record: bot });
  const settings = (fields: Record<string, string>) => ({ settings: { fields, secrets: {} } });

  async function told(record: AgentRecord, said: Partial<Changes>, stage?: "identity") {
    const changes = { ...noChanges(), ...said };
    const stages = stagesTo(program, record, changes, stage);
    const asked = await interview(session, changes, { resolved: programAgent, record, stages, named: stage });
    return withStages(draftOf(programAgent, providers as never, record, asked).record, program.stages, now);
  }

  it("goes through that stage, and skips the others", async () => {
    const record = await told(bot, settings({ command: "./run", health: "tcp" }));
    expect([record.onboarding.state, record.settings]).toEqual(["validate", { command: "./run", health: "tcp" }]);
    const outcome = { was: bot, tests: {}, proofs: [], dryRun: false };
    expect(stageResults(programAgent, record, outcome)).toEqual([
      { name: "providers", result: "skipped", reason: "a program has no model provider" },
      { name: "identity", result: "complete", reason: "command, health" },
      { name: "channels", result: "skipped", reason: "a program has no channels" },
      { name: "validate", result: "open", reason: "not validated" },
    ]);
  });

  it("keeps the stage and the settings that nobody changed, byte by byte", async () => {
    const done = await told(bot, settings({ command: "./run", health: "tcp" }));
    for (const said of [{}, settings({ health: "tcp" })]) {
      expect(JSON.stringify(await told(done, said))).toBe(JSON.stringify(done));
    }
  });

  it("takes away an answer that is not required", async () => {
    const done = await told(bot, settings({ command: "./run", environment: "A=1" }));
    expect((await told(done, settings({ environment: "" }))).settings).toEqual({ command: "./run" });
    expect((await told(done, settings({ files: "" }))).settings).toEqual(done.settings);
  });

  it("keeps files with absolute paths", async () => {
    const { settings: kept } = await told(bot, settings({ command: "./run", files: "a.py,b=c" }));
    expect(kept?.files).toBe(`${process.cwd()}/a.py,${process.cwd()}/b=c`);
  });

  it.each<[string, Partial<Changes>, fault: string, message: string]>([
    ["a required answer taken away", settings({ command: " " }), "bad-input", "command is not allowed"],
    ["a setting that is unknown", settings({ comand: "x" }), "bad-input", "there is no setting called 'comand'"],
    ["none of the choices", settings({ health: "udp" }), "bad-input", 'health: "udp" is not allowed'],
    ["a variable without a name", settings({ environment: "=1" }), "bad-input", 'environment: "=1" is not allowed'],
    ["a path that does not begin with /", settings({ health_path: "ok" }), "bad-input", "health_path"],
    ["a command of two lines", settings({ command: "a\nb" }), "bad-input", "is not allowed"],
    [
      "a secret in a variable",
      settings({ environment: "A=1,API_KEY=0123456789abcdef" }),
      "bad-input",
      "environment looks",
    ],
    ["a secret in the command", settings({ command: "./bot --token 0123456789abcdef" }), "bad-input", "command looks"],
    [
      "a secret for what is none",
      { settings: { fields: {}, secrets: { command: { kind: "env", name: "A" } } } },
      "bad-input",
      "command is not a secret",
    ],
    ["a provider", { provider: "main" }, "unsupported", "program agents have no model provider"],
    ["a channel", { withoutChannels: ["discord"] }, "unsupported", "program agents have no channels or MCP servers"],
  ])("refuses %s", async (_about, said, fault, message) => {
    const error = await told({ ...bot, settings: { command: "./run" } }, said).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ fault, message: expect.stringContaining(message) });
    expect(String(error)).not.toContain("0123456789abcdef");
  });

  it.each([
    "./bot --token $BOT_TOKEN",
    './bot --token "$BOT_TOKEN"',
    `./bot --token \${BOT_TOKEN}`,
    "TOKEN_FILE=x ./bot",
  ])("takes a command that only names a secret: %s", async (command) => {
    expect((await told(bot, settings({ command }))).settings).toEqual({ command });
  });
});
