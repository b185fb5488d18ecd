import { type Agent, findAgent, hostAndName } from "../../state/agents.js";
import { withLock } from "../../state/lock.js";
import type { Session } from "../session.js";

/** Lets one clm at a time work on an agent. Other agents of the host are not locked. */
export function withAgentLock<T>(
  { configDir, argv, signal, gate }: Session,
  { host, name }: { host: string; name: string },
  work: () => Promise<T>,
): Promise<T> {
  // A dry run writes nothing, not even a lock.
  if (gate.dryRun) return work();
  // Neither name contains a comma, so two agents never share a lock.
  const lock = `agent,${host},${name}`;
  return withLock(configDir, lock, { what: `clm ${argv.slice(0, 2).join(" ")}`, signal }, work);
}

/** For a recorded agent, which is read again under the lock. */
export function withLockedAgent<T>(session: Session, ref: string, work: (agent: Agent) => Promise<T>): Promise<T> {
  const agent = findAgent(session.hosts.read(), ref);
  const at = { host: agent.host.name, name: agent.name };
  return withAgentLock(session, at, () => work(findAgent(session.hosts.read(), hostAndName(agent))));
}
