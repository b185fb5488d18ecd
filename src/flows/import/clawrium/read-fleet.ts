import type { ZodError, ZodType } from "zod";
import { Fault } from "../../../errors.js";
import { quote } from "../../../quote.js";
import { type SecretEntry, secretsOfClawrium } from "../../../state/clawrium-secrets.js";
import { jsonErrorPosition } from "../../../state/json-error-position.js";
import { objectionText } from "../../../state/shape.js";
import {
  entries,
  type OldChannel,
  type OldHost,
  type OldIntegration,
  type OldProvider,
  oldChannel,
  oldHosts,
  oldIntegration,
  oldProvider,
  oldSecrets,
} from "./shapes.js";

export interface Texts {
  /** Where they are, for messages. */
  directory: string;
  files: Partial<Record<OldFile, string>>;
  /** Private keys by the key_id they are for. */
  keys: Record<string, string>;
}

export const oldFiles = ["hosts.json", "secrets.json", "providers.json", "channels.json", "integrations.json"] as const;
export type OldFile = (typeof oldFiles)[number];

export interface OldFleet {
  hosts: OldHost[];
  /** By instance key. */
  secrets: Record<string, Record<string, SecretEntry>>;
  providers: OldItem<OldProvider>[];
  channels: OldItem<OldChannel>[];
  integrations: OldItem<OldIntegration>[];
  keys: Record<string, string>;
}

export type OldItem<T> = { name: string; entry: T } | { name: string; flaw: string };

/** Parses the files. Throws for an invalid one, with file, position and reason but nothing of its content. */
export function readFleet({ directory, files, keys }: Texts): OldFleet {
  const read = <T>(file: OldFile, shape: ZodType<T>, otherwise: T): T => {
    const text = files[file];
    return text === undefined ? otherwise : parsed(`${directory}/${file}`, text, shape);
  };
  const list = <T>(file: OldFile, shape: ZodType<T>): OldItem<T>[] =>
    read(file, entries, []).map((raw, index) => entryOf(raw, index, shape));
  return {
    hosts: read("hosts.json", oldHosts, []),
    secrets: secretsOfClawrium(read("secrets.json", oldSecrets, {})),
    providers: list("providers.json", oldProvider),
    channels: list("channels.json", oldChannel),
    integrations: list("integrations.json", oldIntegration),
    keys,
  };
}

function entryOf<T>(raw: Record<string, unknown>, index: number, shape: ZodType<T>): OldItem<T> {
  const found = shape.safeParse(raw);
  const name = typeof raw.name === "string" ? raw.name : `entry ${index + 1}`;
  return found.success ? { name, entry: found.data } : { name, flaw: flawOf(found.error.issues, "it") };
}

function parsed<T>(path: string, text: string, shape: ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const { line, column } = jsonErrorPosition(text);
    throw broken(path, `line ${line}, column ${column}: this is not JSON`);
  }
  const found = shape.safeParse(value);
  if (found.success) return found.data;
  throw broken(path, flawOf(found.error.issues));
}

/** The first problem: `[0].hostname is missing`. */
export function flawOf([first]: ZodError["issues"], whole = "the file"): string {
  const path = (first?.path ?? []).map((step) => (typeof step === "number" ? step : String(step)));
  const reason = first?.message ?? "is wrong";
  return path.length > 0 ? objectionText({ path, reason }) : `${whole} ${reason}`;
}

const broken = (path: string, reason: string): Fault =>
  new Fault("state-corrupt", `${path} cannot be read as Clawrium's`, {
    why: [reason, "nothing was changed"],
    next: `\${EDITOR:-vi} ${quote(path)}`,
    data: { path, reason },
  });
