import { createHash } from "node:crypto";
import { Secret } from "../../secret.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import { render } from "../hermes/rendering.js";
import type { Manifest } from "../manifest/manifest.js";
import { type Answers, type Rendering, type ResolvedAgent, resolvedAgent } from "./resolved-agent.js";

/** What an agent should be on its host. Computed once per command: diff compares it, configure and sync write it. */
export interface DesiredState {
  /** The record as it should be. */
  record: AgentRecord;
  resolved: ResolvedAgent;
  answers: Answers;
  rendering: Rendering;
  /** Changes with anything the agent is told; a proof holds only for the digest it was made with. */
  digest: string;
}

export function desiredState(manifest: Manifest, agent: Agent, record: AgentRecord, answers: Answers): DesiredState {
  const resolved = resolvedAgent(manifest, { ...agent, record });
  const rendering = render(resolved, answers);
  return { record, resolved, answers, rendering, digest: digestOf(resolved, rendering) };
}

/** The same state with another API port, which is known only once the host was probed. */
export const withPort = (desired: DesiredState, agent: Agent, port: number): DesiredState =>
  port === desired.record.port
    ? desired
    : desiredState(desired.resolved.manifest, agent, { ...desired.record, port }, desired.answers);

function digestOf({ version, port, relaxed }: ResolvedAgent, { config, env }: Rendering): string {
  const variables = [...env].map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]);
  return createHash("sha256")
    .update(JSON.stringify([version, port, relaxed, config, variables]))
    .digest("hex");
}
