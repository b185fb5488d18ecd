import { loadType } from "../../../../src/agents/manifest/registry.js";
import { type Answers, type ResolvedAgent, resolvedAgent } from "../../../../src/agents/plan/resolved-agent.js";
import { agentNameFrom } from "../../../../src/names.js";
import { Secret } from "../../../../src/secret.js";
import type { AgentRecord } from "../../../../src/state/agent.js";
import { sampleAgent } from "../../state/sample-agent.js";

export const { manifest } = await loadType("/nonexistent", "program");

/** The record of a program that was installed and has these settings. */
export const sampleProgram = (settings: Record<string, string> = {}, more: Partial<AgentRecord> = {}): AgentRecord =>
  sampleAgent("bot", {
    type: "program",
    version: manifest.default,
    unit: "program-bot.service",
    port: 8700,
    mark: "0123abcd",
    onboarding: { state: "identity", stages: {} },
    settings,
    ...more,
  });

export const programAgent = (settings: Record<string, string> = {}): ResolvedAgent =>
  resolvedAgent(manifest, {
    name: agentNameFrom("bot"),
    ref: "bot",
    host: { name: "wolf-i" } as never,
    record: sampleProgram(settings),
  });

export const programAnswers = (more: Partial<Answers> = {}): Answers => ({
  apiKey: new Secret(""),
  fallbacks: [],
  auxiliary: {},
  channels: {},
  mcp: {},
  extra: {},
  settings: {},
  uploads: [],
  ...more,
});
