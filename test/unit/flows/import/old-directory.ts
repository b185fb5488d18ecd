import { chmodSync, cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { scratchDirectories } from "../../state/scratch.js";

export type Era = "clm-era" | "head-era";
export const eras: Era[] = ["clm-era", "head-era"];

/** Gives directories as Clawrium leaves them, removed after each test. */
export function oldDirectories(): (era: Era) => string {
  const scratch = scratchDirectories();
  return (era) => {
    const directory = join(scratch(), "clawrium");
    cpSync(resolve("test/cases/import", era), directory, { recursive: true });
    closeToOthers(directory);
    return directory;
  };
}

function closeToOthers(path: string): void {
  const isDirectory = statSync(path).isDirectory();
  chmodSync(path, isDirectory ? 0o700 : 0o600);
  if (isDirectory) for (const name of readdirSync(path)) closeToOthers(join(path, name));
}

/** Every file below a directory with its content, except files that each run rewrites. */
export function filesIn(directory: string, passOver = /^(audit|locks|operations)/): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((name) => !passOver.test(name))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name), "utf8")]));
}
