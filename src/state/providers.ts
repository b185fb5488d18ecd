import { Fault } from "../errors.js";
import { didYouMean } from "../text/nearest.js";
import { own } from "../text/own-property.js";
import type { LockOptions } from "./lock.js";
import { object, optional, record, type TypeOf, text } from "./shape.js";
import { jsonStore, type Store } from "./store.js";

const provider = object({
  type: text,
  /** Non-secret fields: `endpoint`, `region`. */
  fields: record(text),
  /** For agents without a model of their own. */
  model: optional(text),
  /** Secrets fetched from elsewhere at each use, not from secrets.json: `env:NAME`, `file:PATH`, `cmd:…`. */
  references: optional(record(text)),
  added_at: text,
  updated_at: text,
});

const providers = object({ providers: record(provider) });

/** A recorded provider. Its secrets are in secrets.json under `provider:<name>`. */
export type Provider = TypeOf<typeof provider>;
export type Providers = TypeOf<typeof providers>;

export function providerStore(dir: string, lock: LockOptions = {}): Store<Providers> {
  return jsonStore({ dir, file: "providers.json", shape: providers, empty: () => ({ providers: {} }), lock });
}

/** An agent's model: its own, or its provider's default. */
export const modelOf = (
  { providers }: Providers,
  { model, provider }: { model?: string | undefined; provider?: string | undefined },
): string | undefined => model ?? own(providers, provider ?? "")?.model;

export function findProvider({ providers }: Providers, name: string): Provider {
  const found = own(providers, name);
  if (found) return found;
  const names = Object.keys(providers);
  const none = names.length === 0;
  throw new Fault("not-found", `no provider is called '${name}'`, {
    ...didYouMean(name, names, none ? "no provider has been added yet" : []),
    next: none ? "clm provider add --help" : "clm provider list",
  });
}
