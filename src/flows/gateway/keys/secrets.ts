import { formerOpens, type GatewayKey, stateOf } from "../../../gateway/keys/key.js";
import { newPepper, pepperPlace, signingName } from "../../../gateway/keys/mint.js";
import { signerOf } from "../../../gateway/signing/signing-secret.js";
import type { Secret } from "../../../secret.js";
import type { GatewayKeys } from "../../../state/gateway-keys.js";
import type { Session } from "../../session.js";

/**
 * What keys need of secrets.json is there before the record that uses it, and goes after the record that used it: a command
 * that is killed in between leaves a secret that opens nothing, which the next one puts away.
 */

/** The pepper of all keys: made with the first one. */
export async function pepperOf({ secrets, ui }: Session, keys: GatewayKey[], now: Date): Promise<Secret> {
  const { instance, name } = pepperPlace;
  const found = secrets.get(instance, name);
  const pepper = found ?? newPepper();
  ui.hide(pepper);
  if (found) return found;
  const lost = keys.filter((key) => stateOf(key, now) === "active").map((key) => key.name);
  if (lost.length > 0) {
    ui.warn(
      `${secrets.path} has lost what these keys were hashed with; they open nothing until rotated: ${lost.join(", ")}`,
    );
  }
  await secrets.set(instance, name, pepper, "what gateway keys are hashed with");
  return pepper;
}

/** Keeps what a signed key signs with, under the hash that the record will have. */
export async function keepSigning(
  { secrets, ui }: Session,
  { id, hash, key }: { id: string; hash: string; key: Secret },
) {
  const signer = signerOf(key);
  if (!signer) return;
  ui.hide(signer.secret);
  await secrets.set({ gateway: id }, signingName(hash), signer.secret, "what a gateway key signs with");
}

/** Forgets what no key signs with any more. */
export async function tidySigning({ secrets }: Session, { keys }: GatewayKeys, now: Date): Promise<void> {
  for (const instance of secrets.instances()) {
    if (!("gateway" in instance) || instance.gateway === "keys") continue;
    const key = Object.hasOwn(keys, instance.gateway) ? keys[instance.gateway] : undefined;
    const used = key ? usedBy(key, now) : [];
    for (const name of secrets.names(instance)) if (!used.includes(name)) await secrets.unset(instance, name);
  }
}

function usedBy(key: GatewayKey, now: Date): string[] {
  // Also when it is revoked: only who signs rightly is told so.
  if (!key.signed) return [];
  return [key.hash, ...(key.former && formerOpens(key, now) ? [key.former.hash] : [])].map(signingName);
}
