import { join } from "node:path";
import { Fault } from "../../errors.js";
import { quote } from "../../quote.js";
import { writeAtomicAsync } from "../../state/atomic-file-async.js";
import { list, object, objectionText, text, whole } from "../../state/shape.js";
import { readStateFile } from "../../state/state-file.js";
import type { UsageRow } from "./totals.js";

// Sums may be larger than doubles count exactly; a file that we wrote is never one that we refuse.
const count = whole(0, Number.MAX_VALUE);
const shape = object({
  seq: whole(0, Number.MAX_SAFE_INTEGER),
  rows: list(
    object({
      day: text,
      key: text,
      target: text,
      requests: count,
      errors: count,
      input: count,
      output: count,
      nano: count,
      most_tokens: count,
      most_nano: count,
    }),
  ),
});

export interface UsageFile {
  /** Of the last line of the audit log that is in it. */
  seq: number;
  rows: UsageRow[];
}

const usagePath = (dir: string): string => join(dir, "usage.json");

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

export const writeUsageFile = (dir: string, content: string): Promise<void> =>
  writeAtomicAsync(usagePath(dir), content);

const damaged = (path: string, reason: string) =>
  new Fault("state-corrupt", `${path} is not valid`, {
    why: [reason, "without it, totals are made again of as much of the gateway's audit log as there is"],
    next: `mv ${quote(path)} ${quote(`${path}.bad`)}`,
    data: { path, reason },
  });
