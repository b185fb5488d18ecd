import { answered, type Values } from "../../agents/manifest/fields.js";
import { Fault, isFault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import { findProvider, type Provider } from "../../state/providers.js";
import { parseSource, secretFrom } from "../secret-source.js";
import type { Session } from "../session.js";
import { findType, flagFor, type KnownType, type SecretField, secretFields } from "./types.js";

/** The provider's fields and secrets; referenced secrets are fetched now. */
export async function providerValues(session: Session, name: string) {
  const provider = findProvider(session.providers.read(), name);
  const type = await findType(session.configDir, provider.type);
  const values = valuesOf(type, provider.fields, await secretsOf(session, name, type, provider));
  mustBeWhole(name, type, values);
  return { type: type.name, values, ...(provider.model && { model: provider.model }) };
}

export const valuesOf = (type: KnownType, fields: Record<string, string>, secrets: Record<string, Secret>): Values =>
  answered(type.fields, { ...fields, ...secrets });

/** By field, every secret that is stored or can be fetched. */
export async function secretsOf(
  session: Session,
  name: string,
  type: KnownType,
  { references = {} }: Pick<Provider, "references">,
): Promise<Record<string, Secret>> {
  const found: Record<string, Secret> = {};
  for (const field of secretFields(type)) {
    const reference = references[field.name];
    const secret = reference
      ? await fetched(session, name, field, reference)
      : session.secrets.get({ provider: name }, field.secret);
    if (!secret) continue;
    session.ui.hide(secret);
    found[field.name] = secret;
  }
  return found;
}

// An agent may use a provider several times, and a `cmd:` may ask for a fingerprint each time.
const known = new WeakMap<Session, Map<string, Promise<Secret>>>();

function fetched(session: Session, name: string, field: SecretField, reference: string): Promise<Secret> {
  const answers = known.get(session) ?? new Map<string, Promise<Secret>>();
  known.set(session, answers);
  const answer = answers.get(reference) ?? fetch(session, name, field, reference);
  answers.set(reference, answer);
  return answer;
}

async function fetch(session: Session, name: string, field: SecretField, reference: string): Promise<Secret> {
  try {
    const wanted = { what: `${field.name} of provider ${name}`, flag: `--secret ${field.name}=env:VARIABLE` };
    return await secretFrom(session, parseSource(reference), wanted);
  } catch (error) {
    if (isFault(error, "bad-input", "local-setup")) error.next.push(`clm provider show ${name}`);
    throw error;
  }
}

function mustBeWhole(name: string, type: KnownType, values: Values): void {
  const missing = type.fields.find((field) => field.required && !Object.hasOwn(values, field.name));
  if (!missing) return;
  throw new Fault("bad-input", `provider ${name} has no ${missing.name}`, {
    why: `${type.title} needs it`,
    next: `clm provider update ${name} ${flagFor(type, missing)}`,
  });
}
