import { existsSync } from "node:fs";
import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { inParallel } from "../async/limit.js";
import type { Progress } from "../ui/ui.js";
import { isKeeper } from "./boot.js";
import { cgroupsNamed, endAll, removeCgroup } from "./cgroup.js";
import { withLock } from "./lock.js";
import { type LabNames, labNames, splitHostName } from "./names.js";
import { closeNat } from "./nat.js";
import { removeNetwork } from "./network.js";
import { isRecordFile } from "./record.js";
import { discard } from "./root.js";
import type { WorkOptions } from "./types.js";

/** Removes a lab and returns the names of its hosts; undefined when there was nothing. */
export async function down(name: string, { signal, progress }: WorkOptions): Promise<string[] | undefined> {
  const names = labNames(name);
  if (!existsSync(names.directory)) return clear(names, progress);
  const waiting = () => progress.update("waiting for another clm at work on it");
  return withLock(names.directory, { signal, waiting }, async () => {
    const hosts = (await clear(names, progress)) ?? [];
    // The record goes last: `status` shows the lab as long as anything is left.
    const left = await readdir(names.directory);
    for (const file of left.filter(isRecordFile)) await rm(join(names.directory, file));
    // The directory may contain files of the user's: then it stays.
    if (left.every(isRecordFile)) await rmdir(names.directory);
    return hosts;
  });
}

/** Removes all but the record, by name: the record may be lost. Returns the hosts found, undefined for nothing. */
export async function clear(names: LabNames, progress?: Progress): Promise<string[] | undefined> {
  const cgroups = await cgroupsNamed(names.prefix);
  progress?.update("stopping its hosts");
  // The keepers first, or they start their hosts again.
  await inParallel(cgroups.filter(isKeeper), 32, endAll);
  await inParallel(cgroups, 32, endAll);
  await inParallel(cgroups, 32, removeCgroup);
  for (const cgroup of cgroups) await discard(join("/run/systemd/nspawn/propagate", cgroup));

  progress?.update("removing its network");
  const wired = await removeNetwork(names);
  await closeNat(names);

  progress?.update("removing its files");
  const entries = await readdir(names.directory).catch(() => []);
  const kept = entries.filter((entry) => splitHostName(entry)?.lab === names.lab);
  await inParallel(kept, 8, (host) => discard(join(names.directory, host)));

  const ran = cgroups.filter((cgroup) => !isKeeper(cgroup)).map((cgroup) => cgroup.slice(names.prefix.length));
  const hosts = [...new Set([...kept, ...ran])];
  return wired || cgroups.length > 0 || hosts.length > 0 ? hosts : undefined;
}
