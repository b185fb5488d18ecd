import { Fault } from "../errors.js";

/** The owner of a secret: an agent on a host, a provider, or the gateway (a key's id, or `keys` for all). */
export type SecretOwner = { host: string; type: string; agent: string } | { provider: string } | { gateway: string };

// A colon in a part would make the key ambiguous.
const part = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** `HOST:TYPE:AGENT`, `provider:openrouter` or `gateway:keys`: the owner's key in secrets.json. */
export function ownerKey(instance: SecretOwner): string {
  const parts = partsOf(instance);
  const bad = parts.find((text) => !part.test(text));
  if (bad === undefined) return parts.join(":");
  throw new Fault("bad-input", `'${bad}' cannot be part of a secret's key`, {
    why: "a part is made of a-z 0-9 . _ - and starts with a letter or digit",
  });
}

function partsOf(instance: SecretOwner): string[] {
  if ("provider" in instance) return ["provider", instance.provider];
  if ("gateway" in instance) return ["gateway", instance.gateway];
  return [instance.host, instance.type, instance.agent];
}

/** Undefined when it is not an owner's key. */
export function parseOwnerKey(key: string): SecretOwner | undefined {
  const parts = key.split(":");
  if (!parts.every((text) => part.test(text))) return undefined;
  const [first = "", second = "", third = ""] = parts;
  if (parts.length === 3) return { host: first, type: second, agent: third };
  if (parts.length !== 2) return undefined;
  if (first === "gateway") return { gateway: second };
  return first === "provider" ? { provider: second } : undefined;
}
