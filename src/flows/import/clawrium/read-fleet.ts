import type { ZodError, ZodType } from "zod";
import { Fault } from "../../../errors.js";
import { quote } from "../../../quote.js";
import { secretsOfClawrium } from "../../../state/clawrium-secrets.js";
import { jsonErrorPosition } from "../../../state/json-error-position.js";
import { objectionText } from "../../../state/shape.js";
import { Skipped } from "./conversion.js";
import { entries, type OldEntry, object, oldEntry, oldHosts } from "./shapes.js";

export interface Texts {
  /** Where they are, for messages. */
  directory: string;
  files: Partial<Record<OldFile, string>>;
  /** Private keys by the key_id they are for. */
  keys: Record<string, string>;
}

export const oldFiles = ["hosts.json", "secrets.json", "providers.json", "channels.json", "integrations.json"] as const;
export type OldFile = (typeof oldFiles)[number];

export type OldItem = OldEntry | { name: string; flaw: string };
export type OldFleet = ReturnType<typeof readFleet>;

/** Parses the files. Throws for an invalid one, with file, position and reason but nothing of its content. */
export function readFleet({ directory, files, keys }: Texts) {
  const read = <T>(file: OldFile, shape: ZodType<T>, otherwise: T): T => {
    const text = files[file];
    return text === undefined ? otherwise : parsed(`${directory}/${file}`, text, shape);
  };
  const list = (file: OldFile): OldItem[] => read(file, entries, []).map(itemFrom);
  return {
    hosts: read("hosts.json", oldHosts, []),
    /** By owner key. */
    secrets: secretsOfClawrium(read("secrets.json", object, {})),
    providers: list("providers.json"),
    channels: list("channels.json"),
    integrations: list("integrations.json"),
    keys,
  };
}

function itemFrom(raw: Record<string, unknown>, index: number): OldItem {
  const { data, error } = oldEntry.safeParse(raw);
  if (data) return data;
  return { name: typeof raw.name === "string" ? raw.name : `entry ${index + 1}`, flaw: flawOf(error.issues, "it") };
}

export const labelOf = (item: OldItem): string => ("type" in item ? `${item.name} (${item.type})` : item.name);

export function entryOf(item: OldItem): OldEntry {
  if ("flaw" in item) throw new Skipped(item.flaw);
  return item;
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
