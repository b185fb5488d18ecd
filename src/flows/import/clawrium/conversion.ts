import type { Field, Manifest } from "../../../agents/manifest/manifest.js";
import { isFault } from "../../../errors.js";
import { Secret } from "../../../secret.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import type { Host } from "../../../state/hosts.js";
import type { Provider } from "../../../state/providers.js";
import type { SecretOwner } from "../../../state/secret-owner.js";
import type { ImportedSecret } from "../../../state/secrets.js";
import { checkAnswerOrAddress } from "../../provider/address.js";
import type { KnownType } from "../../provider/types.js";
import type { OldFleet } from "./read-fleet.js";

/** Skipped without `to`. */
export interface ImportRow {
  what: "host" | "agent" | "provider" | "channel" | "integration";
  from: string;
  to?: string;
  remark?: string;
}

export interface Conversion {
  old: OldFleet;
  /** What it becomes. */
  fleet: ConvertedFleet;
  manifest: Manifest;
  types: KnownType[];
  configDir: string;
  now: string;
  /** `--host OLD=NAME`. */
  hostNames: string[];
}

export interface ConvertedFleet {
  hosts: Host[];
  providers: Record<string, Provider>;
  secrets: ImportedSecret[];
  /** Keys of Clawrium's secrets.json that `secrets` replace. */
  gone: string[];
  /** Private keys by the key_id they are for. */
  keys: Record<string, string>;
  rows: ImportRow[];
}

export interface Outcome {
  to: string;
  remarks: string[];
}

/** Thrown for an item that is not imported; the message is the reason. */
export class Skipped extends Error {}

/** Converts an item and adds its row: what it became, or why it was skipped. */
export function addRow<T extends Outcome>(
  { rows }: ConvertedFleet,
  what: ImportRow["what"],
  from: string,
  convert: () => T,
): T | undefined {
  try {
    const converted = convert();
    const { to, remarks } = converted;
    rows.push({ what, from, to, ...(remarks.length > 0 && { remark: remarks.join("; ") }) });
    return converted;
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    rows.push({ what, from, remark: `skipped: ${error.message}` });
    return undefined;
  }
}

export const without = (names: string[]): string[] => (names.length > 0 ? [`without ${names.join(", ")}`] : []);

export function addSecret({ fleet, now }: Conversion, instance: SecretOwner, name: string, entry: SecretEntry): void {
  const { value, created_at, updated_at, description } = entry;
  fleet.secrets.push({
    instance,
    name,
    value: new Secret(value),
    created_at: created_at || now,
    updated_at: updated_at || now,
    description: typeof description === "string" ? description : "",
  });
}

/** The values among `given` that are valid for the fields, and the names of the others. */
export function answersFrom(fields: Field[], given: Record<string, unknown>) {
  const answers = { fields: {} as Record<string, string>, dropped: [] as string[] };
  for (const [name, value] of Object.entries(given)) {
    const text = textOf(value);
    if (text === "") continue;
    const field = fields.find((each) => each.name === name && !each.secret);
    const answer = field && text !== undefined ? validAnswer(field, text) : undefined;
    if (answer) answers.fields[name] = answer;
    else answers.dropped.push(name);
  }
  return answers;
}

/** A list becomes comma-separated text; undefined when it is not an answer. */
function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value.trim();
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? value.map((item) => textOf(item) ?? "").join(",") : undefined;
}

function validAnswer(field: Field, text: string): string | undefined {
  try {
    return checkAnswerOrAddress(field, text);
  } catch (error) {
    if (isFault(error, "bad-input")) return undefined;
    throw error;
  }
}
