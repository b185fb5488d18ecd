import { type GatewayKey, roles } from "../../state/gateway-keys.js";

export { type GatewayKey, roles };
export type Role = GatewayKey["role"];

export type KeyState = "active" | "expired" | "revoked";

/** What became of a key. */
export function stateOf({ revoked_at, expires_at }: GatewayKey, now: Date): KeyState {
  if (revoked_at !== undefined) return "revoked";
  // A date that cannot be read lets nobody in.
  return expires_at === undefined || Date.parse(expires_at) > now.getTime() ? "active" : "expired";
}

/** Whether what a key was before it was rotated still opens. */
export const formerOpens = ({ former }: GatewayKey, now: Date): boolean =>
  former !== undefined && Date.parse(former.until) > now.getTime();
