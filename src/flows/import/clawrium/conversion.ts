import type { Manifest } from "../../../agents/manifest/manifest.js";
import { Secret } from "../../../secret.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import type { Host } from "../../../state/hosts.js";
import type { Provider } from "../../../state/providers.js";
import type { SecretOwner } from "../../../state/secret-owner.js";
import type { ImportedSecret } from "../../../state/secrets.js";
import type { KnownType } from "../../provider/types.js";
import type { OldFleet } from "./read-fleet.js";

/** Skipped without `to`. */
export interface ImportRow {
  what: "host" | "agent" | "provider" | "channel" | "integration" | "secret";
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

export type Outcome = Pick<ImportRow, "to" | "remark">;
export const skipped = (reason: string): Outcome => ({ remark: `skipped: ${reason}` });

export const converted = (to: string, remarks: string[]): Outcome =>
  remarks.length > 0 ? { to, remark: remarks.join("; ") } : { to };

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
