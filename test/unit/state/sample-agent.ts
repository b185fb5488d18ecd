import { hostNameFrom } from "../../../src/names.js";
import type { AgentRecord } from "../../../src/state/agent.js";
import type { Host } from "../../../src/state/hosts.js";

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

/** A host without agents. */
export const sampleHost = (name: string): Host => ({
  name: hostNameFrom(name),
  address: "192.0.2.1",
  labels: {},
  added_at: "",
  agents: {},
  sudo: "passwordless",
});
