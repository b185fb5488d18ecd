import type { Manifest } from "../../../agents/manifest/manifest.js";
import { Secret } from "../../../secret.js";
import type { SecretEntry } from "../../../state/clawrium-secrets.js";
import type { Host } from "../../../state/hosts.js";
import type { Provider } from "../../../state/providers.js";
import type { SecretOwner } from "../../../state/secret-owner.js";
import type { ImportedSecret } from "../../../state/secrets.js";
import type { KnownType } from "../../provider/types.js";
import type { OldFleet } from "./read.js";

/** One thing of Clawrium's and what becomes of it; without `to`, nothing does. */
export interface Row {
  what: "host" | "agent" | "provider" | "channel" | "integration" | "secret";
  from: string;
  to?: string;
  remark?: string;
}

/** A fleet of Clawrium's as clm would have it. */
export interface Taken {
  hosts: Host[];
  providers: Record<string, Provider>;
  secrets: ImportedSecret[];
  /** Keys of Clawrium's secrets.json that `secrets` replace. */
  gone: string[];
  /** Private keys by the key_id they are for. */
  keys: Record<string, string>;
  rows: Row[];
}

/** What taking over is done with. */
export interface Terms {
  old: OldFleet;
  manifest: Manifest;
  types: KnownType[];
  configDir: string;
  now: string;
  /** `--host OLD=NAME`. */
  hostNames: string[];
}

/** A secret of Clawrium's under its new name. */
export const adopted = (instance: SecretOwner, name: string, kept: SecretEntry, now: string): ImportedSecret => ({
  instance,
  name,
  value: new Secret(kept.value),
  created_at: kept.created_at || now,
  updated_at: kept.updated_at || now,
  description: typeof kept.description === "string" ? kept.description : "",
});

/** Only what an object itself has: names come from outside. */
export const own = <V>(record: Record<string, V>, key: string): V | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;
