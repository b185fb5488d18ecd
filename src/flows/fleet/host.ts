import type { Shell } from "../../remote/process.js";
import { rootShellOf } from "../../remote/shared-shell.js";
import type { Agent } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

export const byHost = (agents: readonly Agent[]): Agent[][] =>
  [...new Set(agents.map(({ host }) => host.name))].map((name) => agents.filter(({ host }) => host.name === name));

/** A root shell on the host, shared by all users of the connection. */
export const rootOn = async ({ pool }: Session, host: Host): Promise<Shell> => rootShellOf(await pool.connect(host));
