import type { Provider } from "../../../state/providers.js";
import { defined } from "../../../text/defined.js";
import { own } from "../../../text/own-property.js";
import { secretFields, typeCalled } from "../../provider/types.js";
import { answersFrom } from "./answers.js";
import { type Conversion, type ConvertedFleet, importedSecret, type Outcome, skipped } from "./conversion.js";
import { freeName, validName } from "./names.js";
import type { OldProvider } from "./shapes.js";

/** Providers with their new names, by the name they had. */
export type ConvertedProviders = Map<string, { name: string; provider: Provider }>;
type Input = Pick<Conversion, "old" | "types" | "now">;
type Output = Pick<ConvertedFleet, "secrets" | "gone" | "rows"> & { byOldName: ConvertedProviders };

// Clawrium renders types of its own as the agent's `custom`.
const otherTypes: Record<string, string> = { litellm: "custom" };

export function convertProviders(input: Input): Output {
  const output: Output = { byOldName: new Map(), secrets: [], gone: [], rows: [] };
  const names = new Set<string>();
  for (const found of input.old.providers) {
    const from = "entry" in found ? `${found.name} (${found.entry.type})` : found.name;
    const outcome = "flaw" in found ? skipped(found.flaw) : convertProvider(input, found.entry, names, output);
    output.rows.push({ what: "provider", from, ...outcome });
  }
  return output;
}

function convertProvider({ old, types, now }: Input, entry: OldProvider, names: Set<string>, output: Output): Outcome {
  if (output.byOldName.has(entry.name)) return skipped("another provider has that name");
  const type = typeCalled(types, own(otherTypes, entry.type) ?? entry.type);
  if (!type) return skipped(`there is no provider type ${entry.type}`);
  const plainFields = type.fields.filter(({ secret }) => !secret);
  const given = Object.entries({ endpoint: entry.endpoint, region: entry.region });
  const known = given.filter(([name]) => plainFields.some((field) => field.name === name));
  const { fields, dropped } = answersFrom(type.fields, Object.fromEntries(known));
  const missing = plainFields.find((field) => field.required && !own(fields, field.name));
  if (missing) return skipped(`its ${missing.name} is ${dropped.includes(missing.name) ? "not valid" : "missing"}`);
  const name = freeName(validName(entry.name), names);
  const key = `provider:${entry.name}`;
  const bucket = own(old.secrets, key) ?? {};
  const secrets = secretFields(type);
  for (const { secret } of secrets) {
    const found = own(bucket, secret);
    if (found) output.secrets.push(importedSecret({ provider: name }, secret, found, now));
  }
  if (name !== entry.name) output.gone.push(key);
  const provider = defined({
    type: type.name,
    fields,
    model: entry.default_model || undefined,
    added_at: entry.created_at ?? now,
    updated_at: entry.updated_at ?? now,
  });
  output.byOldName.set(entry.name, { name, provider });
  const lacks = secrets.find(({ required, secret }) => required && !own(bucket, secret));
  return { to: name, ...(lacks && { remark: `its key is missing: clm provider update ${name} --key-stdin` }) };
}
