import { withState } from "../../flows/agent/configure/record.js";
import type { Session } from "../../flows/session.js";
import { providersOf } from "../../state/agent.js";
import { type Agent, agentsOf, recordAgent } from "../../state/agents.js";
import type { Fleet } from "../../state/hosts.js";

/** The agents that a provider answers for: as their first choice, a fallback, or for a task. */
export const usersOf = (fleet: Fleet, provider: string): Agent[] =>
  agentsOf(fleet).filter(({ record }) => providersOf(record).includes(provider));

/** What was proven about these agents holds no more: those further along go back to `state`. */
export async function setBack(session: Session, agents: Agent[], state: "providers" | "validate"): Promise<void> {
  for (const { name, host } of agents) {
    await recordAgent(session.hosts, { host: host.name, name }, (record) => record && withState(record, state));
  }
}

/** What is left to do for an agent, as a command. */
export const configureLine = ({ ref }: Agent): string => `clm agent configure ${ref}`;
