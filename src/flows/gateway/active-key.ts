import { Fault } from "../../errors.js";
import { type GatewayKey, stateOf } from "../../gateway/request/gateway-key.js";

export function mustBeActive(key: GatewayKey, now: Date): GatewayKey {
  const state = stateOf(key, now);
  if (state === "active") return key;
  throw new Fault("not-ready", `gateway key ${key.name} ${state === "revoked" ? "is revoked" : "has expired"}`, {
    why: state === "revoked" ? `since ${key.revoked_at}` : `at ${key.expires_at}`,
    // An expired key keeps its name until it is revoked.
    next: [...(state === "expired" ? [`clm gateway key revoke ${key.name}`] : []), "clm gateway key create --help"],
  });
}
