import type { Secret } from "../../secret.js";
import type { Session } from "../session.js";
import { type KnownType, secretFields } from "./types.js";

/** Makes these the provider's only secrets in secrets.json. */
export async function keepSecrets(
  { secrets }: Session,
  name: string,
  type: KnownType,
  wanted: Record<string, Secret>,
): Promise<void> {
  const instance = { provider: name };
  const kept = secretFields(type).filter((field) => Object.hasOwn(wanted, field.name));
  for (const field of kept) {
    const value = wanted[field.name];
    if (value) await secrets.set(instance, field.secret, value, `${field.name} of provider ${name}`);
  }
  const left = secrets.names(instance).filter((secret) => !kept.some((field) => field.secret === secret));
  for (const secret of left) await secrets.unset(instance, secret);
}
