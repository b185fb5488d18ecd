import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { Fault } from "../errors.js";
import { writeAtomic } from "../state/atomic-file.js";
import { isLabName, labNames, paths } from "./names.js";
import { releases } from "./types.js";

const labRecord = z.object({
  schema: z.literal(1),
  name: z.string(),
  release: z.enum(releases),
  /** The tree its hosts are laid over: they stay with the one they began with. */
  base: z.string(),
  subnet: z.int(),
  internet: z.boolean(),
  /** The public key its login user accepts. */
  authorizedKey: z.string(),
  hosts: z.array(z.object({ number: z.int(), hostKey: z.string() })),
});

/** What was wished of a lab and given to it. Whether it is so, only the machine can say. */
export type LabRecord = z.infer<typeof labRecord>;

const file = "lab.json";

const fileOf = (lab: string): string => join(labNames(lab).directory, file);

/** The record's file, or a copy that a kill in the middle of writing left. */
export const isRecordFile = (name: string): boolean => name === file || name.startsWith(`.${file}~`);

export async function readRecord(lab: string): Promise<LabRecord | undefined> {
  const path = fileOf(lab);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  try {
    return z.parse(labRecord, JSON.parse(text));
  } catch (cause) {
    throw new Fault("state-corrupt", `the record of lab ${lab} is not one this clm can read`, {
      why: path,
      next: `clm lab down --name ${lab}`,
      cause,
    });
  }
}

export async function writeRecord(record: LabRecord): Promise<void> {
  await mkdir(labNames(record.name).directory, { recursive: true });
  // Anyone may ask for a lab's status, and nothing in the record is secret.
  writeAtomic(fileOf(record.name), `${JSON.stringify(record, null, 2)}\n`, { mode: 0o644 });
}

/** The names of the labs that have a record, good or bad. */
export async function recordedLabs(): Promise<string[]> {
  const entries = await readdir(paths().labs).catch(() => []);
  return entries.filter((name) => isLabName(name) && existsSync(fileOf(name))).sort();
}
