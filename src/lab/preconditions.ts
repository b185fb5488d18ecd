import { existsSync } from "node:fs";
import { Fault } from "../errors.js";
import { mustHaveRoomForBase } from "./base.js";
import { hierarchies } from "./cgroup.js";
import { mustBeRoot, mustHaveSpace, packagesToInstall } from "./machine.js";
import { labNameFrom, paths } from "./names.js";
import { nameServers } from "./nat.js";
import { type LabRecord, readRecord } from "./record.js";
import type { LabOptions } from "./types.js";

/** Throws when a lab cannot be made with these options. Changes nothing. */
export async function mustBePossible(options: LabOptions): Promise<void> {
  const name = labNameFrom(options.name);
  const { hosts, release, internet } = options;
  mustBeRoot(`clm lab up --name ${name} --hosts ${hosts} --release ${release}${internet ? " --internet" : ""}`);
  packagesToInstall(options);
  await hierarchies();
  if (internet) await nameServers();

  const record = await readRecord(name);
  mustFit(options, record);
  if (!record) await mustHaveRoomForBase(release);
  const more = hosts - (record?.hosts.length ?? 0);
  if (more > 0) await mustHaveSpace(paths().labs, 100 * more, more === 1 ? "a lab host" : `${more} lab hosts`);
}

/** An existing lab keeps its release, its base and its hosts. */
export function mustFit({ name, hosts, release }: LabOptions, record: LabRecord | undefined): void {
  if (!record) return;
  const next = `clm lab down --name ${name}`;
  if (record.release !== release) {
    throw new Fault("usage", `lab ${name} exists already, with ${record.release}, not ${release}`, { next });
  }
  if (record.hosts.length > hosts) {
    const why = `it has ${record.hosts.length}; single hosts cannot be removed`;
    throw new Fault("usage", `lab ${name} cannot shrink to ${hosts} host${hosts === 1 ? "" : "s"}`, { why, next });
  }
  if (!existsSync(record.base)) {
    throw new Fault("local-setup", `the base of lab ${name} is gone`, { why: record.base, next });
  }
}
