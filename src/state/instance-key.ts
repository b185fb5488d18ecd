import { Fault } from "../errors.js";

/** Whose a secret is: an agent's on a host, or a provider's. */
export type Instance = { host: string; type: string; agent: string } | { provider: string };

// What a part may hold. A colon would make the key mean something else.
const part = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** `wolf-i:hermes:hermes-test` or `provider:openrouter`: how `secrets.json` names whose a secret is. */
export function instanceKey(instance: Instance): string {
  const parts =
    "provider" in instance ? ["provider", instance.provider] : [instance.host, instance.type, instance.agent];
  const bad = parts.find((text) => !part.test(text));
  if (bad === undefined) return parts.join(":");
  throw new Fault("bad-input", `'${bad}' cannot be part of a secret's key`, {
    why: "a part is made of a-z 0-9 . _ - and starts with a letter or digit",
  });
}

/** What a key says; nothing when it is not one of ours. */
export function parseInstanceKey(key: string): Instance | undefined {
  const parts = key.split(":");
  if (!parts.every((text) => part.test(text))) return undefined;
  const [first = "", second = "", third = ""] = parts;
  if (parts.length === 3) return { host: first, type: second, agent: third };
  return parts.length === 2 && first === "provider" ? { provider: second } : undefined;
}
