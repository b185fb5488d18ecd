import { unpin } from "../../remote/host-keys/pins.js";
import { keepLast } from "../chat/last.js";
import type { Session } from "../session.js";

/** The record goes last, so that an interrupted run can be repeated. */
export async function forgetHost(session: Session, name: string): Promise<void> {
  const { configDir, secrets, hosts, withFleetLock } = session;
  await withFleetLock(async () => {
    await secrets.removeHost(name);
    await keepLast(session, (chats) => chats.forget(name));
    await unpin(configDir, name);
    await hosts.update((fleet) => ({ ...fleet, hosts: fleet.hosts.filter((host) => host.name !== name) }));
  });
}
