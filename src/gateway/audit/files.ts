import { readdirSync } from "node:fs";
import { errnoOf } from "../../state/disk-fault.js";

/** The file that lines are appended to. */
export const current = "audit.jsonl";

/** An older file, named after its first line. */
export interface OldFile {
  name: string;
  first: number;
}

export const oldName = (first: number): string => `audit-${String(first).padStart(12, "0")}.jsonl`;

/** The older files, oldest first. */
export function oldFiles(dir: string): OldFile[] {
  return namesIn(dir)
    .flatMap((name) => {
      const [, digits] = /^audit-(\d{12,15})\.jsonl$/.exec(name) ?? [];
      return digits ? { name, first: Number(digits) } : [];
    })
    .sort((one, other) => one.first - other.first || (one.name < other.name ? -1 : 1));
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
