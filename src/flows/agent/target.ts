import { loadType } from "../../agents/manifest/registry.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { type Agent, findAgent } from "../../state/agents.js";
import type { Session } from "../session.js";

export interface Target {
  agent: Agent;
  resolved: ResolvedAgent;
}

export async function targetOf(session: Pick<Session, "hosts" | "configDir">, ref: string): Promise<Target> {
  const agent = findAgent(session.hosts.read(), ref);
  const { manifest } = await loadType(session.configDir, agent.record.type);
  return { agent, resolved: resolvedAgent(manifest, agent) };
}
