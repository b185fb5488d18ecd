import { defined } from "../../../text/defined.js";
import { own } from "../../../text/own-property.js";
import { secretFields, typeCalled } from "../../provider/types.js";
import { addRow, addSecret, answersFrom, type Conversion, type Outcome, Skipped } from "./conversion.js";
import { freeName, validName } from "./names.js";
import { entryOf, labelOf } from "./read-fleet.js";
import type { OldEntry } from "./shapes.js";

/** The new names of providers, by the name they had. */
export type ProviderNames = Map<string, string>;

// Clawrium renders types of its own as the agent's `custom`.
const otherTypes: Record<string, string> = { litellm: "custom" };

export function convertProviders(conversion: Conversion): ProviderNames {
  const names: ProviderNames = new Map();
  for (const item of conversion.old.providers) {
    addRow(conversion.fleet, "provider", labelOf(item), () => convertProvider(conversion, entryOf(item), names));
  }
  return names;
}

function convertProvider(conversion: Conversion, entry: OldEntry, names: ProviderNames): Outcome {
  const { old, types, now, fleet } = conversion;
  if (names.has(entry.name)) throw new Skipped("another provider has that name");
  const type = typeCalled(types, own(otherTypes, entry.type) ?? entry.type);
  if (!type) throw new Skipped(`there is no provider type ${entry.type}`);
  const { fields, dropped } = answersFrom(type.fields, { endpoint: entry.endpoint, region: entry.region });
  const missing = type.fields.find((field) => !field.secret && field.required && !own(fields, field.name));
  if (missing) {
    throw new Skipped(`its ${missing.name} is ${dropped.includes(missing.name) ? "not valid" : "missing"}`);
  }
  const name = freeName(validName(entry.name), new Set(names.values()));
  const key = `provider:${entry.name}`;
  const bucket = own(old.secrets, key) ?? {};
  const secrets = secretFields(type);
  for (const { secret } of secrets) {
    const found = own(bucket, secret);
    if (found) addSecret(conversion, { provider: name }, secret, found);
  }
  if (name !== entry.name) fleet.gone.push(key);
  fleet.providers[name] = defined({
    type: type.name,
    fields,
    model: entry.default_model || undefined,
    added_at: entry.created_at ?? now,
    updated_at: entry.updated_at ?? now,
  });
  names.set(entry.name, name);
  const lacks = secrets.some(({ required, secret }) => required && !own(bucket, secret));
  return { to: name, remarks: lacks ? [`its key is missing: clm provider update ${name} --key-stdin`] : [] };
}
