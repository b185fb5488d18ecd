import type { Field, ProviderType } from "../../agents/manifest/manifest.js";
import { loadTypes } from "../../agents/manifest/registry.js";
import { Fault } from "../../errors.js";
import { didYouMean } from "../../text/nearest.js";

/** A type of provider, with the agent type whose manifest has it. */
export interface KnownType extends ProviderType {
  name: string;
  agent: string;
}

/** Every type of provider there is. One that several agent types know is asked about as the first of them says. */
export async function providerTypes(configDir: string): Promise<KnownType[]> {
  const found = new Map<string, KnownType>();
  for (const { manifest } of await loadTypes(configDir)) {
    for (const [name, type] of Object.entries(manifest.providers)) {
      if (!found.has(name)) found.set(name, { ...type, name, agent: manifest.type });
    }
  }
  return [...found.values()];
}

/** The type that `word` names, by its own name or another that it goes by. */
export async function findType(configDir: string, word: string): Promise<KnownType> {
  const types = await providerTypes(configDir);
  const found = types.find(({ name }) => name === word) ?? types.find(({ aliases }) => aliases.includes(word));
  if (found) return found;
  const names = types.flatMap(({ name, aliases }) => [name, ...aliases]);
  throw new Fault("not-found", `no provider type is called '${word}'`, {
    ...didYouMean(word, names),
    next: "clm provider types",
  });
}

/** A field that is kept in secrets.json, under the name it has there. */
export type SecretField = Field & { secret: string };

export const secretFields = ({ fields }: KnownType): SecretField[] =>
  fields.filter((field): field is SecretField => field.secret !== undefined);

/** The secret that `--key-stdin` and its like are about. */
export const keyField = (type: KnownType): SecretField | undefined => {
  const secrets = secretFields(type);
  return secrets.find(({ required }) => required) ?? secrets[0];
};

/** The flag that answers a field without a question. */
export function flagFor(type: KnownType, field: Field): string {
  if (field.secret) return field === keyField(type) ? "--key-stdin" : `--secret ${field.name}=env:VARIABLE`;
  if (field.name === "endpoint") return "--endpoint URL";
  return field.name === "region" ? "--region REGION" : `--set ${field.name}=VALUE`;
}
