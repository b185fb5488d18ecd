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
  /** The tree below its hosts, which never changes. */
  base: z.string(),
  subnet: z.int(),
  internet: z.boolean(),
  authorizedKey: z.string(),
  hosts: z.array(z.object({ number: z.int(), hostKey: z.string() })),
});

/** A lab's configuration. Its state is read from the machine. */
export type LabRecord = z.infer<typeof labRecord>;

const file = "lab.json";
const fileOf = (lab: string): string => join(labNames(lab).directory, file);

/** The record's file, or a temporary copy left by a kill. */
export const isRecordFile = (name: string): boolean => name === file || name.startsWith(`.${file}~`);

export async function readRecord(lab: string): Promise<LabRecord | undefined> {
  const path = fileOf(lab);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (["ENOENT", "ENOTDIR"].includes(error.code ?? "")) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return z.parse(labRecord, JSON.parse(text));
  } catch (cause) {
    throw new Fault("state-corrupt", `the record of lab ${lab} is not valid`, {
      why: path,
      next: `clm lab down --name ${lab}`,
      cause,
    });
  }
}

export async function writeRecord(record: LabRecord): Promise<void> {
  await mkdir(labNames(record.name).directory, { recursive: true });
  // Readable by all, for `lab status`: the record contains no secret.
  writeAtomic(fileOf(record.name), `${JSON.stringify(record, null, 2)}\n`, { mode: 0o644 });
}

/** Names of the labs with a record, valid or not. */
export async function recordedLabs(): Promise<string[]> {
  const entries = await readdir(paths().labs).catch(() => []);
  return entries.filter((name) => isLabName(name) && existsSync(fileOf(name))).sort();
}
