import { Fault } from "../../errors.js";
import { sameKey } from "../../remote/host-keys/key.js";
import { copyPin, readPins, unpin } from "../../remote/host-keys/pins.js";
import { findHost, type Host } from "../../state/hosts.js";
import { keepLast } from "../chat/last.js";
import type { Session } from "../session.js";

/**
 * Rename: the record, the pin, the secrets' keys and the last conversations get the new name. Whatever stops it half-way, a host always has its
 * pin, and the same command does the rest.
 */
export async function renameHost(session: Session, from: string, to: string): Promise<void> {
  const { configDir, gate, hosts, secrets, inFleet } = session;
  const deed = { verb: "host rename", target: from, summary: `rename host ${from} to ${to}` };
  if (await isNearlyRenamed(session, from, to)) {
    await gate.pass(deed, () => unpin(configDir, from));
    return;
  }
  mayBeRenamed(hosts.read().hosts, from, to);
  await gate.pass(deed, () =>
    inFleet(async () => {
      mayBeRenamed(hosts.read().hosts, from, to);
      await copyPin(configDir, from, to);
      await secrets.renameHost(from, to);
      await keepLast(session, (chats) => chats.renameHost(from, to));
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

/** An earlier run got as far as the record and left the old name's pin, which is the new one's too. */
async function isNearlyRenamed({ configDir, hosts }: Session, from: string, to: string): Promise<boolean> {
  const named = (name: string) => hosts.read().hosts.some((host) => host.name === name);
  if (named(from) || !named(to)) return false;
  const kept = await readPins(configDir, to);
  return (await readPins(configDir, from)).some((left) => kept.some((pin) => sameKey(pin, left)));
}
