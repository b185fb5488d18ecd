import { defined } from "../../../text/defined.js";
import { own } from "../../../text/own-property.js";
import { secretFields, typeCalled } from "../../provider/types.js";
import { answersFrom } from "./answers.js";
import { addSecret, type Conversion, type Outcome, skipped } from "./conversion.js";
import { freeName, validName } from "./names.js";
import type { OldProvider } from "./shapes.js";

/** The new names of providers, by the name they had. */
export type ProviderNames = Map<string, string>;

// Clawrium renders types of its own as the agent's `custom`.
const otherTypes: Record<string, string> = { litellm: "custom" };

export function convertProviders(conversion: Conversion): ProviderNames {
  const names: ProviderNames = new Map();
  for (const found of conversion.old.providers) {
    const from = "entry" in found ? `${found.name} (${found.entry.type})` : found.name;
    const outcome = "flaw" in found ? skipped(found.flaw) : convertProvider(conversion, found.entry, names);
    conversion.fleet.rows.push({ what: "provider", from, ...outcome });
  }
  return names;
}

function convertProvider(conversion: Conversion, entry: OldProvider, names: ProviderNames): Outcome {
  const { old, types, now, fleet } = conversion;
  if (names.has(entry.name)) return skipped("another provider has that name");
  const type = typeCalled(types, own(otherTypes, entry.type) ?? entry.type);
  if (!type) return skipped(`there is no provider type ${entry.type}`);
  const plainFields = type.fields.filter(({ secret }) => !secret);
  const given = Object.entries({ endpoint: entry.endpoint, region: entry.region });
  const known = given.filter(([name]) => plainFields.some((field) => field.name === name));
  const { fields, dropped } = answersFrom(type.fields, Object.fromEntries(known));
  const missing = plainFields.find((field) => field.required && !own(fields, field.name));
  if (missing) return skipped(`its ${missing.name} is ${dropped.includes(missing.name) ? "not valid" : "missing"}`);
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
  const lacks = secrets.find(({ required, secret }) => required && !own(bucket, secret));
  return { to: name, ...(lacks && { remark: `its key is missing: clm provider update ${name} --key-stdin` }) };
}
