import { matchesPattern } from "../../text/wildcard.js";
import type { GatewayKey, Role } from "../request/gateway-key.js";
import { Refusal } from "../request/refusal.js";

export type Right = "models" | "talk" | "metrics";

const rights: Record<Role, readonly Right[]> = {
  read: ["models", "metrics"],
  chat: ["models", "talk"],
  admin: ["models", "talk", "metrics"],
};

const words: Record<Right, string> = {
  models: "list models",
  talk: "use models",
  metrics: "read metrics",
};

export function requireRight(key: GatewayKey, right: Right): void {
  if (rights[key.role].includes(right)) return;
  const others = Object.entries(rights).filter(([, allowed]) => allowed.includes(right));
  const able = others.map(([role]) => role).join(" or ");
  throw new Refusal(
    403,
    "role_not_allowed",
    `The role of this key is ${key.role}, which may not ${words[right]}. Create a key that may with: clm gateway key create --role ${able.replace(/ or .*/, "")} (${able})`,
  );
}

export interface Usable {
  host: string;
  name: string;
  proxied?: boolean;
}

const ofProxy = "/proxy";

/**
 * A proxy spends a person's subscription and may be added long after the key was created, so it needs a pattern of its own:
 * `ada/proxy`.
 */
export const mayUse = ({ agents }: GatewayKey, { host, name, proxied = false }: Usable): boolean =>
  agents.some((pattern) => {
    const agent = proxied ? pattern.slice(0, -ofProxy.length) : pattern;
    return pattern.endsWith(ofProxy) === proxied && matchesAgent(agent, host, name);
  });

/** A pattern without a host matches the agent's name on any host. */
const matchesAgent = (pattern: string, host: string, name: string): boolean =>
  matchesPattern(pattern, pattern.includes("/") ? `${host}/${name}` : name);

/** Whether a request went to the agents of a pattern: `host/agent/proxy` counts for the agent. */
export function targetsAgent(pattern: string, target: string | undefined): boolean {
  const [host, name] = target?.split("/") ?? [];
  return host !== undefined && name !== undefined && matchesAgent(pattern, host, name);
}
