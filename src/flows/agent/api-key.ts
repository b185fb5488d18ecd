import { randomBytes } from "node:crypto";
import type { Manifest } from "../../agents/manifest/manifest.js";
import { noCapability } from "../../agents/manifest/no-capability.js";
import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { type Agent, secretOwner } from "../../state/agents.js";
import type { SecretOwner } from "../../state/secret-owner.js";
import type { Session } from "../session.js";

/** The owner of a key, and its name in secrets.json: `api.secret` of the manifest. */
export interface KeyRef {
  instance: SecretOwner & { agent: string };
  name: string;
  /** The agent, for commands to type. */
  ref: string;
}

/** Undefined for a type whose API has no key. */
export const keyRefOf = (agent: Agent, { api }: Manifest): KeyRef | undefined =>
  api.secret === undefined ? undefined : { instance: secretOwner(agent), name: api.secret, ref: agent.ref };

export function mustHaveKey(agent: Agent, manifest: Manifest): KeyRef {
  const keyRef = keyRefOf(agent, manifest);
  if (keyRef) return keyRef;
  throw noCapability(manifest, "API key");
}

/** The name of the new key during a rotation: from before the first change until the host has it. */
export const nextName = (name: string): string => `${name}_NEXT`;

export const isKey = (secret: Secret): boolean => /^[0-9a-f]{64}$/.test(secret.reveal());
export const newKey = (): Secret => new Secret(randomBytes(32).toString("hex"));

/**
 * The key for an agent's files. During a rotation it is the new one, for every command that renders; `pending`: the flow
 * that proves that the host has this key promotes it.
 */
export function apiKeyOf(
  { secrets, ui }: Pick<Session, "secrets" | "ui">,
  keyRef: KeyRef | undefined,
): { key: Secret; pending: boolean } {
  if (!keyRef) return { key: new Secret(""), pending: false };
  const { instance, name, ref } = keyRef;
  const next = secrets.get(instance, nextName(name));
  const current = secrets.get(instance, name);
  for (const secret of [next, current]) if (secret) ui.hide(secret);
  if (next && isKey(next)) return { key: next, pending: true };
  if (current && isKey(current)) return { key: current, pending: false };
  const what = current
    ? `${name} of ${instance.agent} is not a key of 64 hex digits`
    : `${instance.agent} has no ${name}`;
  throw new Fault("state-corrupt", what, {
    why: `it should be in ${secrets.path}, as clm generates it`,
    next: rotateLine(ref),
  });
}

/** During a rotation the host may have either key, so nothing can be proven. */
export function mustHaveOneKey(session: Pick<Session, "secrets">, keyRef: KeyRef | undefined): void {
  if (!keyRef) return;
  const { instance, name, ref } = keyRef;
  const next = session.secrets.get(instance, nextName(name));
  if (!next || !isKey(next)) return;
  throw new Fault("not-ready", `the key rotation of ${instance.agent} is not finished`, {
    next: rotateLine(ref),
  });
}

export const rotateLine = (ref: string): string => `clm agent rotate-key ${ref}`;

/** Finishes a rotation, once the host is known not to have the old key. */
export async function promoteKey({ secrets }: Pick<Session, "secrets">, keyRef: KeyRef | undefined): Promise<void> {
  if (!keyRef) return;
  const { instance, name } = keyRef;
  const next = secrets.get(instance, nextName(name));
  if (!next) return;
  if (isKey(next)) await secrets.set(instance, name, next, keyDescription);
  await secrets.unset(instance, nextName(name));
}

export const keyDescription = "bearer key of the agent's API";
