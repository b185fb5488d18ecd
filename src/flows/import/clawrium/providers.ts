import type { Provider } from "../../../state/providers.js";
import type { ImportedSecret } from "../../../state/secrets.js";
import { type KnownType, secretFields } from "../../provider/types.js";
import { answersFrom } from "./answers.js";
import { freeName, validName } from "./names.js";
import type { OldProvider } from "./shapes.js";
import { adopted, own, type Row, type Terms } from "./taken.js";

export interface TakenProvider {
  name: string;
  provider: Provider;
}

export interface TakenProviders {
  /** By the name they had. */
  byOldName: Map<string, TakenProvider>;
  secrets: ImportedSecret[];
  gone: string[];
  rows: Row[];
}

// Clawrium renders its own types as Hermes' `custom`, and so do we with what goes by that name.
const otherTypes: Record<string, string> = { litellm: "custom" };

export function takeProviders(terms: Pick<Terms, "old" | "types" | "now">): TakenProviders {
  const taken: TakenProviders = { byOldName: new Map(), secrets: [], gone: [], rows: [] };
  const names = new Set<string>();
  for (const found of terms.old.providers) {
    const from = "entry" in found ? `${found.name} (${found.entry.type})` : found.name;
    const row =
      "flaw" in found ? { remark: `not taken over: ${found.flaw}` } : takeProvider(terms, found.entry, names, taken);
    taken.rows.push({ what: "provider", from, ...row });
  }
  return taken;
}

function takeProvider(
  { old, types, now }: Pick<Terms, "old" | "types" | "now">,
  entry: OldProvider,
  names: Set<string>,
  taken: TakenProviders,
): Pick<Row, "to" | "remark"> {
  if (taken.byOldName.has(entry.name)) return { remark: "not taken over: there is another of that name" };
  const type = typeCalled(types, entry.type);
  if (!type) return { remark: `not taken over: there is no provider type ${entry.type}` };
  const asked = type.fields.filter(({ secret }) => !secret).map(({ name }) => name);
  const given = { endpoint: entry.endpoint, region: entry.region };
  const { fields, dropped } = answersFrom(
    type.fields,
    Object.fromEntries(Object.entries(given).filter(([name]) => asked.includes(name))),
  );
  const missing = type.fields.find((field) => field.required && !field.secret && !own(fields, field.name));
  if (missing) {
    const why = dropped.includes(missing.name) ? "is none that clm can use" : "is missing";
    return { remark: `not taken over: its ${missing.name} ${why}` };
  }
  const name = freeName(validName(entry.name), names);
  const key = `provider:${entry.name}`;
  const bucket = own(old.secrets, key) ?? {};
  const wanted = secretFields(type);
  for (const { secret } of wanted) {
    const kept = own(bucket, secret);
    if (kept) taken.secrets.push(adopted({ provider: name }, secret, kept, now));
  }
  if (name !== entry.name) taken.gone.push(key);
  taken.byOldName.set(entry.name, {
    name,
    provider: {
      type: type.name,
      fields,
      ...(entry.default_model && { model: entry.default_model }),
      added_at: entry.created_at ?? now,
      updated_at: entry.updated_at ?? now,
    },
  });
  const lacks = wanted.find(({ required, secret }) => required && !own(bucket, secret));
  return { to: name, ...(lacks && { remark: `its key is missing: clm provider update ${name} --key-stdin` }) };
}

function typeCalled(types: KnownType[], word: string): KnownType | undefined {
  const name = own(otherTypes, word) ?? word;
  return types.find((type) => type.name === name) ?? types.find(({ aliases }) => aliases.includes(name));
}
