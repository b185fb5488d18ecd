import { fingerprint } from "../../fingerprint.js";
import { type HostKey, sameKey } from "../../remote/host-keys/key.js";
import { pin, readPins } from "../../remote/host-keys/pins.js";
import { parseHop } from "../../remote/ssh-settings.js";
import type { Target } from "../../remote/target.js";
import { findHost } from "../../state/hosts.js";
import type { Session } from "../session.js";
import { reachNew } from "./reach.js";

export interface Retrusted {
  name: string;
  /** The fingerprint pinned now. */
  after: string;
  changed: boolean;
}

/** Trust: the key the host shows now replaces the pinned one, after a person or a fingerprint vouched for it. */
export async function trustHost(session: Session, name: string, sha256?: string): Promise<Retrusted> {
  const pinned = await readPins(session.configDir, name);
  const target =
    pinned.length > 0 ? (recorded(session, name) ?? jumpHost(name)) : findHost(session.hosts.read().hosts, name);
  const introduction = { fingerprint: sha256, known: pinned };
  const { connection, agreed } = await reachNew(session, target, introduction, session.trust.doubting(name));
  connection.close();

  const fresh = await notYetPinned(session.configDir, agreed);
  const after = fingerprint(connection.hostKey.blob);
  const deed = { verb: "host trust", target: name, summary: `pin ${after} for ${name}` };
  if (fresh.length > 0) {
    await session.gate.pass(deed, async () => {
      for (const [alias, key] of fresh) await pin(session.configDir, alias, key);
    });
  }
  return { name, after, changed: fresh.some(([alias]) => alias === name) };
}

const recorded = (session: Session, name: string) => session.hosts.read().hosts.find((host) => host.name === name);

/** A jump host has a pin and no record: its name is its address. */
const jumpHost = (name: string): Target => {
  const { hostname, port } = parseHop(name);
  return { name, address: hostname, port, jump: true };
};

async function notYetPinned(configDir: string, agreed: Map<string, HostKey>): Promise<[alias: string, key: HostKey][]> {
  const pins = await Promise.all([...agreed].map(([alias]) => readPins(configDir, alias)));
  return [...agreed].filter(([, key], at) => !pins[at]?.some((known) => sameKey(known, key)));
}
