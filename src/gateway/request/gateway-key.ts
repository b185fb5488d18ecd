import type { GatewayKey } from "../../state/gateway-keys.js";

export type { GatewayKey };
export type Role = GatewayKey["role"];
export type KeyState = "active" | "expired" | "revoked";

export function stateOf({ revoked_at, expires_at }: GatewayKey, now: Date): KeyState {
  if (revoked_at !== undefined) return "revoked";
  // A key whose date cannot be parsed counts as expired.
  return expires_at === undefined || Date.parse(expires_at) > now.getTime() ? "active" : "expired";
}

/** Whether the secret from before a rotation is still valid. */
export const isFormerSecretValid = ({ former }: GatewayKey, now: Date): boolean =>
  former !== undefined && Date.parse(former.until) > now.getTime();
