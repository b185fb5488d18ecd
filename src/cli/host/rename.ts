import { Fault } from "../../errors.js";
import { keepLast } from "../../flows/chat/last.js";
import type { Session } from "../../flows/session.js";
import { type HostName, hostNameFrom } from "../../names.js";
import { sameKey } from "../../remote/host-keys/key.js";
import { copyPin, readPins, unpin } from "../../remote/host-keys/pins.js";
import { findHost, type Host } from "../../state/hosts.js";
import type { Handler } from "../command.js";
import type { rename } from "./commands.js";

export const run: Handler<typeof rename> = async ({ args: { oldName, newName } }, clm) => {
  const to = hostNameFrom(newName);
  await clm.withSession((session) => renameHost(session, oldName, to));
  if (!clm.dryRun) clm.ui.note(`${oldName} is now ${to}`);
};

/** The order matters: wherever it is interrupted, the host has a pin and the same command finishes the rest. */
async function renameHost(session: Session, from: string, to: HostName): Promise<void> {
  const { configDir, gate, hosts, secrets, withFleetLock } = session;
  const action = { verb: "host rename", target: from, summary: `rename host ${from} to ${to}` };
  if (await onlyOldPinIsLeft(session, from, to)) {
    await gate.pass(action, () => unpin(configDir, from));
    return;
  }
  mustBeRenamable(hosts.read().hosts, from, to);
  await gate.pass(action, () =>
    withFleetLock(async () => {
      mustBeRenamable(hosts.read().hosts, from, to);
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

function mustBeRenamable(hosts: Host[], from: string, to: string): void {
  findHost(hosts, from);
  if (!hosts.some((host) => host.name === to)) return;
  throw new Fault("already-exists", `a host called ${to} already exists`, { next: `clm host show ${to}` });
}

/** An earlier run was interrupted after it renamed the record and before it removed the old name's pin. */
async function onlyOldPinIsLeft({ configDir, hosts }: Session, from: string, to: string): Promise<boolean> {
  const exists = (name: string) => hosts.read().hosts.some((host) => host.name === name);
  if (exists(from) || !exists(to)) return false;
  const pins = await readPins(configDir, to);
  return (await readPins(configDir, from)).some((old) => pins.some((pin) => sameKey(pin, old)));
}
