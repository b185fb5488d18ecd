import { formerOpens, type GatewayKey, stateOf } from "../../../gateway/keys/key.js";
import { newPepper, pepperPlace, signingName } from "../../../gateway/keys/mint.js";
import { signerOf } from "../../../gateway/signing/signing-secret.js";
import type { Secret } from "../../../secret.js";
import type { GatewayKeys } from "../../../state/gateway-keys.js";
import type { Session } from "../../session.js";

// A secret is stored before the key's record that uses it, and removed after it. A command that is killed in between leaves an unused
// secret, which the next one removes.

/** The pepper of all keys, created with the first one. */
export async function pepperOf({ secrets, ui }: Session, keys: GatewayKey[], now: Date): Promise<Secret> {
  const { instance, name } = pepperPlace;
  const found = secrets.get(instance, name);
  const pepper = found ?? newPepper();
  ui.hide(pepper);
  if (found) return found;
  const lost = keys.filter((key) => stateOf(key, now) === "active").map((key) => key.name);
  if (lost.length > 0) {
    ui.warn(`${secrets.path} has lost the pepper of these keys; they are invalid until rotated: ${lost.join(", ")}`);
  }
  await secrets.set(instance, name, pepper, "pepper of gateway keys");
  return pepper;
}

/** Stores the signing secret, under the hash that the record will have. */
export async function keepSigning(
  { secrets, ui }: Session,
  { id, hash, key }: { id: string; hash: string; key: Secret },
) {
  const signer = signerOf(key);
  if (!signer) return;
  ui.hide(signer.secret);
  await secrets.set({ gateway: id }, signingName(hash), signer.secret, "signing secret of a gateway key");
}

/** Removes unused signing secrets. */
export async function tidySigning({ secrets }: Session, { keys }: GatewayKeys, now: Date): Promise<void> {
  for (const instance of secrets.instances()) {
    if (!("gateway" in instance) || instance.gateway === "keys") continue;
    const key = Object.hasOwn(keys, instance.gateway) ? keys[instance.gateway] : undefined;
    const used = key ? usedBy(key, now) : [];
    for (const name of secrets.names(instance)) if (!used.includes(name)) await secrets.unset(instance, name);
  }
}

function usedBy(key: GatewayKey, now: Date): string[] {
  // Also of a revoked key: only a caller with a valid signature is told that it is revoked.
  if (!key.signed) return [];
  return [key.hash, ...(key.former && formerOpens(key, now) ? [key.former.hash] : [])].map(signingName);
}
