import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { Fault } from "../../../src/errors.js";

/** Gives fresh directories, and removes them after each test. */
export function scratchDirectories(): () => string {
  const made: string[] = [];
  afterEach(() => {
    for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
  });
  return () => {
    const directory = mkdtempSync(join(tmpdir(), "clm-state-"));
    made.push(directory);
    return directory;
  };
}

/** The fault that `work` ends with. */
export async function faultOf(work: () => unknown): Promise<Fault> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("expected a fault, and there was none");
}
