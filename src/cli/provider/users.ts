import { withState } from "../../flows/agent/agent-record.js";
import type { Session } from "../../flows/session.js";
import { providersOf } from "../../state/agent.js";
import { type Agent, agentsOf, recordAgent } from "../../state/agents.js";
import type { Fleet } from "../../state/hosts.js";

/** The agents that use a provider: as their first choice, as a fallback, or for a task. */
export const usersOf = (fleet: Fleet, provider: string): Agent[] =>
  agentsOf(fleet).filter(({ record }) => providersOf(record).includes(provider));

/** Sets agents that are further along back to this stage: their proofs are no longer valid. */
export async function setBack(session: Session, agents: Agent[], state: "providers" | "validate"): Promise<void> {
  for (const { name, host } of agents) {
    await recordAgent(session.hosts, { host: host.name, name }, (record) => record && withState(record, state));
  }
}

export const configureLine = ({ ref }: Agent): string => `clm agent configure ${ref}`;
