import type { AgentRecord } from "../../../src/state/agent.js";

/** The record of an agent that was just installed, with what a test is about. */
export const sampleAgent = (name: string, more: Partial<AgentRecord> = {}): AgentRecord => ({
  type: "hermes",
  version: "2026.7.1",
  status: "installed",
  user: name,
  home: `/home/${name}`,
  unit: `hermes-${name}.service`,
  port: 8642,
  onboarding: { state: "providers", stages: {} },
  ...more,
});
