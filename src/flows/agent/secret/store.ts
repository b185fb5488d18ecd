import type { Secret } from "../../../secret.js";
import { type Agent, hostAndName, recordAgent, secretOwner } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { withAgentLock } from "../agent-lock.js";
import { withState } from "../configure/record.js";

export interface Stored {
  agent: Agent;
  /** By name, what has another value now; nothing where it is gone. */
  values: Map<string, Secret | undefined>;
  /** Names among those that were set which the agent's own commands never get. */
  stripped?: string[];
}

export interface Change {
  verb: string;
  /** Completes "would …". */
  summary: string;
  question?: string;
  /** By name; nothing takes a secret away. */
  values: Map<string, Secret | undefined>;
}

/** Changes an agent's own secrets on this machine. What the host has is proven no more; so that is recorded first. */
export async function store(session: Session, agent: Agent, change: Change): Promise<Stored> {
  const { secrets, hosts, gate } = session;
  const instance = secretOwner(agent);
  const target = hostAndName(agent);
  const changed = [...change.values].filter(
    ([name, value]) => secrets.get(instance, name)?.reveal() !== value?.reveal(),
  );
  const stored = { agent, values: new Map(changed) };
  if (changed.length === 0) return stored;
  const { verb, summary, question } = change;
  await withAgentLock(session, { host: agent.host.name, name: agent.name }, () =>
    gate.pass({ verb, target, summary, ...(question && { question }) }, async () => {
      await recordAgent(
        hosts,
        { host: agent.host.name, name: agent.name },
        (record) => record && withState(record, "validate"),
      );
      for (const [name, value] of changed) {
        if (value) await secrets.set(instance, name, value, "set with clm agent secret");
        else await secrets.unset(instance, name);
      }
    }),
  );
  return stored;
}
