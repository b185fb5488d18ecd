import { Fault } from "../../errors.js";
import { copyPin, unpin } from "../../remote/host-keys/pins.js";
import { findHost, type Host } from "../../state/hosts.js";
import type { Session } from "../session.js";

/**
 * Rename: the record, the pin and the secrets' keys get the new name. Whatever stops it half-way, a host always has its
 * pin, and the same command does the rest.
 */
export async function renameHost(session: Session, from: string, to: string): Promise<void> {
  const { configDir, gate, hosts, secrets, inFleet } = session;
  mayBeRenamed(hosts.read().hosts, from, to);
  await gate.pass({ verb: "host rename", target: from, summary: `rename host ${from} to ${to}` }, () =>
    inFleet(async () => {
      mayBeRenamed(hosts.read().hosts, from, to);
      await copyPin(configDir, from, to);
      await secrets.renameHost(from, to);
      await hosts.update((fleet) => ({
        ...fleet,
        hosts: fleet.hosts.map((host) => (host.name === from ? { ...host, name: to } : host)),
      }));
      await unpin(configDir, from);
    }),
  );
}

function mayBeRenamed(hosts: Host[], from: string, to: string): void {
  findHost(hosts, from);
  if (!hosts.some((host) => host.name === to)) return;
  throw new Fault("already-exists", `there is a host called ${to} already`, { next: `clm host show ${to}` });
}
