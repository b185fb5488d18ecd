import { hashOf, newKeyFor, newPepper, pepperPlace, signingName } from "../../../gateway/keys/mint.js";
import { type GatewayKey, isFormerSecretValid, stateOf } from "../../../gateway/request/gateway-key.js";
import { signerOf } from "../../../gateway/signing/sign.js";
import type { Secret } from "../../../secret.js";
import { type GatewayKeys, gatewayKeyStore } from "../../../state/gateway-keys.js";
import type { Store } from "../../../state/store.js";
import type { Session } from "../../session.js";

export const keyStoreOf = ({ configDir, argv, signal }: Session): Store<GatewayKeys> =>
  gatewayKeyStore(configDir, { what: `clm ${argv.slice(0, 3).join(" ")}`, signal });

// A secret is stored before the key's record that uses it, and removed after it. A command that is killed in between leaves an unused
// secret, which the next one removes.

/** The pepper of all keys, created with the first one. */
async function pepperOf({ secrets, ui }: Session, keys: GatewayKey[], now: Date): Promise<Secret> {
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

/** A new secret for a key, with its hash; its signing secret is stored under that hash. `others` are all other keys. */
export async function newSecretFor(
  session: Session,
  { id, signed }: Pick<GatewayKey, "id" | "signed">,
  others: GatewayKey[],
): Promise<{ key: Secret; hash: string }> {
  const { secrets, ui, now } = session;
  const key = newKeyFor(id);
  ui.hide(key);
  const hash = hashOf(await pepperOf(session, others, now()), key.reveal()).toString("hex");
  const signer = signed ? signerOf(key) : undefined;
  if (signer) {
    ui.hide(signer.secret);
    await secrets.set({ gateway: id }, signingName(hash), signer.secret, "signing secret of a gateway key");
  }
  return { key, hash };
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
  // Also of a revoked key: only a caller with a valid signature learns that it is revoked.
  if (!key.signed) return [];
  return [key.hash, ...(key.former && isFormerSecretValid(key, now) ? [key.former.hash] : [])].map(signingName);
}
