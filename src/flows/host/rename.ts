import { Fault } from "../../errors.js";
import { renamePin } from "../../remote/host-keys/pins.js";
import { findHost, hostStore } from "../../state/hosts.js";
import { openSecrets } from "../../state/secrets.js";
import type { Session } from "../session.js";

/**
 * Rename: the record, the pin and the secrets' keys get the new name. The record comes last; a run that was killed
 * before that is simply done again, and one killed after it has nothing left to do.
 */
export async function renameHost(session: Session, from: string, to: string): Promise<void> {
  const { configDir, gate } = session;
  const store = hostStore(configDir);
  const { hosts } = store.read();
  findHost(hosts, from);
  if (hosts.some((host) => host.name === to)) {
    throw new Fault("already-exists", `there is a host called ${to} already`, { next: `clm host show ${to}` });
  }
  await gate.pass({ verb: "host rename", target: from, summary: `rename host ${from} to ${to}` }, async () => {
    await renamePin(configDir, from, to);
    await openSecrets(configDir).renameHost(from, to);
    await store.update((file) => ({
      ...file,
      hosts: file.hosts.map((host) => (host.name === from ? { ...host, name: to } : host)),
    }));
  });
}
