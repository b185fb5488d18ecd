import type { Connection } from "../../remote/connection.js";
import type { Shell } from "../../remote/process.js";
import { sharedShell } from "../../remote/shared-shell.js";
import type { Agent } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

export const byHost = (agents: readonly Agent[]): Agent[][] =>
  [...new Set(agents.map(({ host }) => host.name))].map((name) => agents.filter(({ host }) => host.name === name));

const roots = new WeakMap<Connection, Promise<Shell>>();

/** Root's shell on a host, the same for as long as the connection lasts: who watches looks often. */
export async function rootOn({ pool }: Session, host: Host): Promise<Shell> {
  const connection = await pool.connect(host);
  const root = roots.get(connection) ?? sharedShell(connection.as("root"));
  roots.set(connection, root);
  root.catch(() => roots.delete(connection));
  return root;
}
