import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isKeeper } from "./boot.js";
import { cgroupsNamed, endAll, removeCgroup } from "./cgroup.js";
import { withLock } from "./lock.js";
import { mustBeRoot } from "./machine.js";
import type { LabNames } from "./names.js";
import { labNames } from "./names.js";
import { closeWayOut } from "./nat.js";
import { removeNetwork } from "./network.js";
import { inParallel } from "./parallel.js";
import { readRecord, recordedLabs } from "./record.js";
import { discard } from "./root.js";

/** Removes everything of a lab. Gives false when there was nothing. */
export async function down(name: string, progress?: (message: string) => void, signal?: AbortSignal): Promise<boolean> {
  const names = labNames(name);
  mustBeRoot(`clm lab down --name ${names.lab}`);
  if (!existsSync(names.directory)) return clear(names);
  const waiting = () => progress?.(`waiting for another clm at work on lab ${names.lab}`);
  return withLock(names.directory, { signal, waiting }, async () => {
    await clear(names, progress);
    // The record goes last: as long as anything is there, `status` must show it.
    await rm(names.directory, { recursive: true, force: true });
    return true;
  });
}

/** Removes all but the record, by the names a lab leaves on the machine: the record may be lost, or never written. */
export async function clear(names: LabNames, progress?: (message: string) => void): Promise<boolean> {
  const cgroups = await cgroupsNamed(names.prefix);
  progress?.(`stopping the hosts of lab ${names.lab}`);
  // The keepers first, or they start their hosts again.
  await inParallel(cgroups.filter(isKeeper), 32, endAll);
  await inParallel(cgroups, 32, endAll);
  await inParallel(cgroups, 32, removeCgroup);
  for (const cgroup of cgroups) await discard(join("/run/systemd/nspawn/propagate", cgroup));

  progress?.(`removing the network of lab ${names.lab}`);
  const wired = await removeNetwork(names);
  await closeWayOut(names, await otherHasWayOut(names.lab));

  progress?.(`removing the files of lab ${names.lab}`);
  const entries = await readdir(names.directory, { withFileTypes: true }).catch(() => []);
  const hosts = entries.filter((entry) => entry.isDirectory()).map((entry) => join(names.directory, entry.name));
  await inParallel(hosts, 8, discard);
  return cgroups.length > 0 || wired || hosts.length > 0;
}

async function otherHasWayOut(lab: string): Promise<boolean> {
  const others = (await recordedLabs()).filter((name) => name !== lab);
  const records = await Promise.all(others.map((other) => readRecord(other).catch(() => undefined)));
  return records.some((record) => record?.internet);
}
