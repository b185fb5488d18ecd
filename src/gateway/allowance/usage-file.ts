import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { tempName } from "../../state/atomic-file.js";
import { list, object, objectionText, text, whole } from "../../state/shape.js";
import { readStateFile } from "../../state/state-file.js";
import type { UsageRow } from "./totals.js";

const count = whole(0, Number.MAX_SAFE_INTEGER);
const shape = object({
  seq: count,
  rows: list(
    object({
      ...{ day: text, key: text, target: text },
      ...{ requests: count, errors: count, input: count, output: count, nano: count },
    }),
  ),
});

export interface UsageFile {
  /** Of the last line of the audit log that is in it. */
  seq: number;
  rows: UsageRow[];
}

export const usagePath = (dir: string): string => join(dir, "usage.json");

export function readUsageFile(dir: string): UsageFile {
  const path = usagePath(dir);
  const found = readStateFile(path, false);
  if (!found) return { seq: 0, rows: [] };
  try {
    const content = JSON.parse(found.text);
    const objection = shape.objection(content);
    if (!objection) return content as UsageFile;
    throw damaged(path, objectionText(objection));
  } catch (error) {
    throw error instanceof Fault ? error : damaged(path, "it is not JSON");
  }
}

/** Not `writeAtomic`, which holds up the loop until the disk has it, and with the loop every request. */
export async function writeUsageFile(dir: string, content: string): Promise<void> {
  const path = usagePath(dir);
  const temp = join(dir, tempName("usage.json"));
  try {
    const file = await open(temp, "wx", 0o600);
    try {
      await file.writeFile(content);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temp, path);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}

const damaged = (path: string, reason: string) =>
  new Fault("state-corrupt", `${path} cannot be read as what it should be`, {
    why: [reason, "without it, totals are made again of as much of the gateway's audit log as there is"],
    next: `mv ${quote(path)} ${quote(`${path}.bad`)}`,
    data: { path, reason },
  });
