import type { Shell } from "../../remote/process.js";
import { rootShellOf } from "../../remote/shared-shell.js";
import type { Agent } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

export function byHost(agents: readonly Agent[]): { host: Host; agents: Agent[] }[] {
  const hosts = new Map(agents.map(({ host }) => [host.name, host]));
  return [...hosts.values()].map((host) => ({ host, agents: agents.filter((agent) => agent.host.name === host.name) }));
}

/** A root shell on the host, shared by all users of the connection. */
export const rootOn = async ({ pool }: Session, host: Host): Promise<Shell> => rootShellOf(await pool.connect(host));
