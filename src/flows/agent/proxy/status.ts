import type { Login, ProxyObservation } from "../../../agents/proxy/probe.js";
import { type AgentProxy, proxyOf, recordedProxyType } from "../../../agents/proxy/proxy.js";
import type { Fault } from "../../../errors.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { probeProxy } from "./probe.js";
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
  const { agent, resolved } = await targetOf(session, word);
  const type = recordedProxyType(resolved);
  const proxy = proxyOf(resolved);
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const seen = await probeProxy(session, root, resolved, type, { port: proxy?.port, logins: true });
  return {
    agent,
    ...(proxy && { proxy }),
    ...told(seen),
    ...(proxy && !isWell(seen) && { trouble: notWell({ resolved, proxy }, seen) }),
  };
}

function told({ unit, listeners, logins, says }: ProxyObservation): Omit<ProxyStatus, "agent"> {
  const { LoadState, ActiveState = "", SubState = "", UnitFileState } = unit;
  return {
    ...(LoadState !== "not-found" && { unit: `${ActiveState} (${SubState})` }),
    enabled: UnitFileState === "enabled",
    holders: listeners.map(({ pid, user, command, own }) => ({ pid, user, command, own })),
    logins,
    ...says,
  };
}
