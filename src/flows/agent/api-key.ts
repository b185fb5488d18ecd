import { randomBytes } from "node:crypto";
import type { Manifest } from "../../agents/manifest/manifest.js";
import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { type Agent, secretOwner } from "../../state/agents.js";
import type { SecretOwner } from "../../state/secret-owner.js";
import type { Session } from "../session.js";

/** Whose key it is, and what it is called in secrets.json: `api.secret` of the manifest. */
export interface KeyRef {
  instance: SecretOwner & { agent: string };
  name: string;
}

/** Where an agent's key is; undefined for a type whose API has no key. */
export const keyRefOf = (agent: Agent, { api }: Manifest): KeyRef | undefined =>
  api.secret === undefined ? undefined : { instance: secretOwner(agent), name: api.secret };

export function mustHaveKey(agent: Agent, manifest: Manifest): KeyRef {
  const place = keyRefOf(agent, manifest);
  if (place) return place;
  throw new Fault("unsupported", `${manifest.type} agents have no API key`, {
    next: `clm registry show ${manifest.type}`,
  });
}

/** The key that is to replace another one. It is there from before the first change until the host was seen to have it. */
export const nextName = (name: string): string => `${name}_NEXT`;

const form = /^[0-9a-f]{64}$/;

export const isKey = (secret: Secret): boolean => form.test(secret.reveal());

export const newKey = (): Secret => new Secret(randomBytes(32).toString("hex"));

export interface ApiKey {
  key: Secret;
  /** It is being put in the place of another one: whoever proves that the host has it, promotes it. */
  pending: boolean;
}

/**
 * The key an agent's files should have. While it is being changed that is the new one, whoever renders: what the host
 * has then is one of the two, and the new one is what it ends with.
 */
export function apiKeyOf(session: Pick<Session, "secrets" | "ui">, place: KeyRef | undefined): ApiKey {
  if (!place) return { key: new Secret(""), pending: false };
  const { secrets, ui } = session;
  const { instance, name } = place;
  const next = secrets.get(instance, nextName(name));
  const current = secrets.get(instance, name);
  for (const secret of [next, current]) if (secret) ui.hide(secret);
  if (next && isKey(next)) return { key: next, pending: true };
  if (current && isKey(current)) return { key: current, pending: false };
  throw badKey(session, { instance, name }, current);
}

/** Which of two keys the host has is not known while one replaces the other: nothing can be proven until that is done. */
export function mustHaveOneKey(session: Pick<Session, "secrets">, place: KeyRef | undefined, word: string): void {
  if (!place) return;
  const { instance, name } = place;
  const next = session.secrets.get(instance, nextName(name));
  if (!next || !isKey(next)) return;
  throw new Fault("not-ready", `a change of the key of ${instance.agent} was begun and is not finished`, {
    next: rotateLine(word),
  });
}

export const rotateLine = (word: string): string => `clm agent rotate-key ${word}`;

/** The new key is the key: called when the host was seen to have it, or cannot have the old one any more. */
export async function promoteKey({ secrets }: Pick<Session, "secrets">, place: KeyRef | undefined): Promise<void> {
  if (!place) return;
  const { instance, name } = place;
  const next = secrets.get(instance, nextName(name));
  if (!next) return;
  if (isKey(next)) await secrets.set(instance, name, next, keyDescription);
  await secrets.unset(instance, nextName(name));
}

export const keyDescription = "bearer key of the agent's API";

function badKey({ secrets }: Pick<Session, "secrets">, { instance, name }: KeyRef, current: Secret | undefined): Fault {
  return new Fault(
    "state-corrupt",
    current ? `${name} of ${instance.agent} is not a key of 64 hex digits` : `${instance.agent} has no ${name}`,
    {
      why: `it should be in ${secrets.path}, as clm makes it`,
      next: `clm agent rotate-key ${instance.agent}`,
    },
  );
}
