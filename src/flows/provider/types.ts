import type { Field, ProviderType } from "../../agents/manifest/manifest.js";
import { loadTypes } from "../../agents/manifest/registry.js";
import { Fault } from "../../errors.js";
import { didYouMean } from "../../text/nearest.js";

export interface KnownType extends ProviderType {
  name: string;
  agent: string;
}

/** Every provider type. One that several manifests have is defined by the first. */
export async function providerTypes(configDir: string): Promise<KnownType[]> {
  const found = new Map<string, KnownType>();
  for (const { manifest } of await loadTypes(configDir)) {
    for (const [name, type] of Object.entries(manifest.providers)) {
      if (!found.has(name)) found.set(name, { ...type, name, agent: manifest.type });
    }
  }
  return [...found.values()];
}

export const typeCalled = (types: KnownType[], word: string): KnownType | undefined =>
  types.find(({ name }) => name === word) ?? types.find(({ aliases }) => aliases.includes(word));

export async function findType(configDir: string, word: string): Promise<KnownType> {
  const types = await providerTypes(configDir);
  const found = typeCalled(types, word);
  if (found) return found;
  const names = types.flatMap(({ name, aliases }) => [name, ...aliases]);
  throw new Fault("not-found", `no provider type is called '${word}'`, {
    ...didYouMean(word, names),
    next: "clm provider types",
  });
}

/** A field stored in secrets.json, with its name there. */
export type SecretField = Field & { secret: string };

export const secretFields = ({ fields }: KnownType): SecretField[] =>
  fields.filter((field): field is SecretField => field.secret !== undefined);

/** The secret that `--key-stdin` and the like set. */
export const keyField = (type: KnownType): SecretField | undefined => {
  const secrets = secretFields(type);
  return secrets.find(({ required }) => required) ?? secrets[0];
};

export function flagFor(type: KnownType, field: Field): string {
  if (field.secret) return field === keyField(type) ? "--key-stdin" : `--secret ${field.name}=env:VARIABLE`;
  if (field.name === "endpoint") return "--endpoint URL";
  return field.name === "region" ? "--region REGION" : `--set ${field.name}=VALUE`;
}
