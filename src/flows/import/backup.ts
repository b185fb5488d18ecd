import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { syncDirectory, tempName, writeNew } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import { cannotWrite } from "../../state/disk-fault.js";
import { oldFiles } from "./clawrium/read-fleet.js";

const kept = [...oldFiles, "known_hosts", "keys"];

/** Private and atomic; returns the path. */
export function backUpConfigDir(configDir: string, now: Date): string | undefined {
  const there = kept.filter((name) => existsSync(join(configDir, name)));
  if (there.length === 0) return undefined;
  const backups = openSubdirectory(configDir, "backups");
  const target = freePath(backups, `clawrium-${now.toISOString().replace(/[-:]|\.\d+/g, "")}`);
  const temp = join(backups, tempName("clawrium"));
  try {
    mkdirSync(temp, { mode: 0o700 });
    for (const name of there) copy(join(configDir, name), join(temp, name));
    syncDirectory(temp);
    renameSync(temp, target);
    syncDirectory(backups);
    return target;
  } catch (error) {
    rmSync(temp, { recursive: true, force: true });
    throw cannotWrite(target, backups, error);
  }
}

function freePath(directory: string, name: string): string {
  let path = join(directory, name);
  for (let number = 2; existsSync(path); number++) path = join(directory, `${name}-${number}`);
  return path;
}

/** Private from the start. */
function copy(from: string, to: string): void {
  const stat = lstatSync(from);
  if (stat.isFile()) writeNew(to, readFileSync(from));
  if (!stat.isDirectory()) return;
  mkdirSync(to, { mode: 0o700 });
  for (const name of readdirSync(from)) copy(join(from, name), join(to, name));
  syncDirectory(to);
}
