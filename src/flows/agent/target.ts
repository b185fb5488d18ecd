import { loadType } from "../../agents/registry.js";
import { type Subject, subjectOf } from "../../agents/subject.js";
import { type Agent, findAgent } from "../../state/agents.js";
import type { Session } from "../session.js";

/** The agent a command is about, with what the manifest says of it. */
export interface Target {
  agent: Agent;
  subject: Subject;
}

export async function targetOf(session: Pick<Session, "hosts" | "configDir">, word: string): Promise<Target> {
  const agent = findAgent(session.hosts.read(), word);
  const { manifest } = await loadType(session.configDir, agent.record.type);
  return { agent, subject: subjectOf(manifest, agent) };
}
