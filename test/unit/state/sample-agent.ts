import type { AgentRecord } from "../../../src/state/agent.js";

/** The record of a newly installed agent, with the changes that a test needs. */
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
