import { type AgentProxy, proxyOf, recordedProxyType } from "../../../agents/plan/proxy.js";
import type { Login } from "../../../agents/proxy/probe.js";
import type { Fault } from "../../../errors.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { targetOf } from "../target.js";
import { probeProxy } from "./probe.js";
import { isServing, notServing } from "./prove.js";

export interface ProxyStatus {
  agent: Agent;
  /** As recorded; absent when none is enabled. */
  proxy?: AgentProxy;
  /** In systemd's words: `active (running)`; absent when there is no such unit. */
  unit?: string;
  enabled: boolean;
  holders: { pid: number; user: string; command: string; own: boolean }[];
  /** As reported by the agent's program. */
  logins: Login[];
  /** As reported by the proxy. */
  upstream?: string;
  authenticated?: boolean;
  trouble?: Fault;
}

export async function proxyStatus(session: Session, ref: string): Promise<ProxyStatus> {
  const { agent, resolved } = await targetOf(session, ref);
  const type = recordedProxyType(resolved);
  const proxy = proxyOf(resolved);
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const seen = await probeProxy(session, root, resolved, type, { port: proxy?.port, logins: true });
  const { LoadState, ActiveState = "", SubState = "", UnitFileState } = seen.unit;
  return {
    agent,
    ...(proxy && { proxy }),
    ...(LoadState !== "not-found" && { unit: `${ActiveState} (${SubState})` }),
    enabled: UnitFileState === "enabled",
    holders: seen.listeners.map(({ pid, user, command, own }) => ({ pid, user, command, own })),
    logins: seen.logins,
    ...seen.says,
    ...(proxy && !isServing(seen) && { trouble: notServing(resolved, proxy, seen) }),
  };
}
