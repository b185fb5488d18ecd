import { matchesPattern } from "../../wildcard.js";
import { Refusal } from "../refusal.js";
import type { GatewayKey, Role } from "./key.js";

/** What somebody wants of the gateway: see which models there are, talk with one, read the metrics. */
export type Right = "models" | "talk" | "metrics";

const rights: Record<Role, readonly Right[]> = {
  read: ["models", "metrics"],
  chat: ["models", "talk"],
  admin: ["models", "talk", "metrics"],
};

const words: Record<Right, string> = {
  models: "list models",
  talk: "talk with agents",
  metrics: "read metrics",
};

export function mustMay(key: GatewayKey, right: Right): void {
  if (rights[key.role].includes(right)) return;
  const others = Object.entries(rights).filter(([, allowed]) => allowed.includes(right));
  const able = others.map(([role]) => role).join(" or ");
  throw new Refusal(
    403,
    "role_not_allowed",
    `The role of this key is ${key.role}, which may not ${words[right]}. It takes a key made with: clm gateway key create --role ${able.replace(/ or .*/, "")} (${able})`,
  );
}

/** A pattern without a host means the agent's name, on whatever host. */
export const mayUse = ({ agents }: GatewayKey, { host, name }: { host: string; name: string }): boolean =>
  agents.some((pattern) => matchesPattern(pattern, pattern.includes("/") ? `${host}/${name}` : name));
