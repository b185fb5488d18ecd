import { findAgent } from "../../state/agents.js";
import { withLock } from "../../state/lock.js";
import type { Session } from "../session.js";

/** One clm at a time works on an agent: `lab-1/ada` may be installed while `lab-1/ben` is removed. */
export function withAgentLock<T>(
  { configDir, argv, signal, gate }: Session,
  { host, name }: { host: string; name: string },
  work: () => Promise<T>,
): Promise<T> {
  // A dry run writes nothing, not even a lock.
  if (gate.dryRun) return work();
  // Neither name can hold a comma, so two agents never share a lock.
  const lock = `agent,${host},${name}`;
  return withLock(configDir, lock, { what: `clm ${argv.slice(0, 2).join(" ")}`, signal }, work);
}

/** The same for an agent that is known, by the word somebody has for it. The work gets the word that can mean no other. */
export function withAgentLocks<T>(session: Session, word: string, work: (word: string) => Promise<T>): Promise<T> {
  const { host, name } = findAgent(session.hosts.read(), word);
  return withAgentLock(session, { host: host.name, name }, () => work(`${host.name}/${name}`));
}
