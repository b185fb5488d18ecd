import { type AgentProxy, proxyOf, proxyTypeHad } from "../../../agents/proxy/proxy.js";
import type { Login, ProxySeen } from "../../../agents/proxy/seen.js";
import type { Fault } from "../../../errors.js";
import { inOneShell } from "../../../remote/one-shell.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { lookAtProxy } from "./look.js";
import { isWell, notWell } from "./prove.js";

/** What the host says of an agent's proxy now. */
export interface ProxyStatus {
  agent: Agent;
  /** As it was recorded; nothing when the agent is to have none. */
  proxy?: AgentProxy;
  /** As systemd says it: `active (running)`; nothing when there is no such unit. */
  unit?: string;
  enabled: boolean;
  /** Who listens on its port. */
  holders: { pid: number; user: string; command: string; own: boolean }[];
  /** At which providers the agent is logged in, as its program says it. */
  logins: Login[];
  /** What it says of itself. */
  upstream?: string;
  authenticated?: boolean;
  /** Why it does not serve although it should. */
  trouble?: Fault;
}

/** Status: looks, and changes nothing. */
export async function proxyStatus(session: Session, word: string): Promise<ProxyStatus> {
  const { agent, subject } = await targetOf(session, word);
  const type = proxyTypeHad(subject);
  const proxy = proxyOf(subject);
  const root = await inOneShell((await session.pool.connect(agent.host)).as("root"));
  const seen = await lookAtProxy(session, root, subject, type, { port: proxy?.port, logins: true });
  return {
    agent,
    ...(proxy && { proxy }),
    ...told(seen),
    ...(proxy && !isWell(seen) && { trouble: notWell({ subject, proxy }, seen) }),
  };
}

function told({ unit, listeners, logins, says }: ProxySeen): Omit<ProxyStatus, "agent"> {
  const { LoadState, ActiveState = "", SubState = "", UnitFileState } = unit;
  return {
    ...(LoadState !== "not-found" && { unit: `${ActiveState} (${SubState})` }),
    enabled: UnitFileState === "enabled",
    holders: listeners.map(({ pid, user, command, own }) => ({ pid, user, command, own })),
    logins,
    ...says,
  };
}
