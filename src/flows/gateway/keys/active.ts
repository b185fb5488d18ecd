import { Fault } from "../../../errors.js";
import { type GatewayKey, stateOf } from "../../../gateway/keys/key.js";

/** Nothing can be done with a key that opens nothing any more. */
export function mustBeActive(key: GatewayKey, now: Date): GatewayKey {
  const state = stateOf(key, now);
  if (state === "active") return key;
  throw new Fault("not-ready", `gateway key ${key.name} ${state === "revoked" ? "is revoked" : "has expired"}`, {
    why: state === "revoked" ? `since ${key.revoked_at}` : `at ${key.expires_at}`,
    // Only then its name is free.
    next: [...(state === "expired" ? [`clm gateway key revoke ${key.name}`] : []), "clm gateway key create --help"],
  });
}
