import { loadType } from "../../agents/manifest/registry.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { type Agent, findAgent } from "../../state/agents.js";
import type { Session } from "../session.js";

export interface AgentTarget {
  agent: Agent;
  resolved: ResolvedAgent;
}

export async function targetOf(session: Pick<Session, "hosts" | "configDir">, ref: string): Promise<AgentTarget> {
  const agent = findAgent(session.hosts.read(), ref);
  return { agent, resolved: await resolve(session, agent) };
}

export async function resolve({ configDir }: Pick<Session, "configDir">, agent: Agent): Promise<ResolvedAgent> {
  const { manifest } = await loadType(configDir, agent.record.type);
  return resolvedAgent(manifest, agent);
}
