import { type Agent, agentsOf, recordAgent } from "../../state/agents.js";
import type { Fleet } from "../../state/hosts.js";
import { withState } from "../agent/configure/record.js";
import type { Session } from "../session.js";

/** The agents that a provider answers for: as their first choice, a fallback, or for a task. */
export function usersOf(fleet: Fleet, provider: string): Agent[] {
  return agentsOf(fleet).filter(({ record }) => {
    const others = [...(record.fallbacks ?? []), ...Object.values(record.auxiliary ?? {})];
    return record.provider === provider || others.some((choice) => choice.provider === provider);
  });
}

/** What was proven about these agents holds no more: those further along go back to `state`. */
export async function setBack(session: Session, agents: Agent[], state: "providers" | "validate"): Promise<void> {
  for (const { name, host } of agents) {
    await recordAgent(session.hosts, { host: host.name, name }, (record) => record && withState(record, state));
  }
}

/** What is left to do for each of these agents, as commands. */
export const configureLines = (agents: Agent[], fleet: Fleet): string[] =>
  agents.map(({ name, host }) => {
    const alone = agentsOf(fleet).filter((agent) => agent.name === name).length === 1;
    return `clm agent configure ${alone ? name : `${host.name}/${name}`}`;
  });
