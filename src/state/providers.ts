import { Fault } from "../errors.js";
import { didYouMean } from "../text/nearest.js";
import { own } from "../text/own-property.js";
import type { LockOptions } from "./lock.js";
import { object, optional, record, type TypeOf, text } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

const provider = object({
  /** One of the manifest's providers. */
  type: text,
  /** The answers that are no secrets: `endpoint`, `region`. */
  fields: record(text),
  /** For agents that name none of their own. */
  model: optional(text),
  /** Where a secret is fetched from each time it is needed, instead of secrets.json: `env:NAME`, `file:PATH`, `cmd:…`. */
  references: optional(record(text)),
  added_at: text,
  updated_at: text,
});

const providers = object({ providers: record(provider) });

/** A provider as it is recorded. Its secrets are in secrets.json under `provider:<name>`. */
export type Provider = TypeOf<typeof provider>;
export type Providers = TypeOf<typeof providers>;

/** `providers.json`: who answers for the models. */
export function providerStore(dir: string, lock: LockOptions = {}): Store<Providers> {
  return jsonStore<Providers>({
    dir,
    file: "providers.json",
    version: 1,
    shape: providers,
    empty: () => ({ providers: {} }),
    lock,
  });
}

/** The model that answers for an agent: its own, or its provider's. */
export const modelOf = (
  { providers }: Providers,
  { model, provider }: { model?: string | undefined; provider?: string | undefined },
): string | undefined => model ?? own(providers, provider ?? "")?.model;

/** The provider of that name, or a fault that offers the one that was probably meant. */
export function findProvider({ providers }: Providers, name: string): Provider {
  const found = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (found) return found;
  const names = Object.keys(providers);
  const none = names.length === 0;
  throw new Fault("not-found", `no provider is called '${name}'`, {
    ...didYouMean(name, names, none ? "no provider has been added yet" : []),
    next: none ? "clm provider add --help" : "clm provider list",
  });
}
