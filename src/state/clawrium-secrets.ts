import { isRecord } from "../text/record.js";

type Json = Record<string, unknown>;

/** A secret, in the format clm and Clawrium share. */
export interface SecretEntry extends Json {
  value: string;
  created_at: string;
  updated_at: string;
}

/** Clawrium writes the same secrets.json without a version and ignores entries that are not secrets. So do we. */
export function secretsOfClawrium(content: Json): Record<string, Record<string, SecretEntry>> {
  return mapped(content, (secrets) => (isRecord(secrets) ? mapped(secrets, kept) : undefined));
}

function kept(entry: unknown): SecretEntry | undefined {
  if (!isRecord(entry) || typeof entry.value !== "string") return undefined;
  const { value, created_at, updated_at, description } = entry;
  return {
    ...entry,
    value,
    created_at: text(created_at),
    updated_at: text(updated_at),
    description: description === null ? null : text(description),
  };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const mapped = <V>(from: Json, to: (value: unknown) => V | undefined): Record<string, V> =>
  Object.fromEntries(
    Object.entries(from)
      .map(([key, value]) => [key, to(value)] as const)
      .filter((pair): pair is [string, V] => pair[1] !== undefined),
  );
