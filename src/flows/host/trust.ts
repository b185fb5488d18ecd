import { fingerprint } from "../../remote/host-keys/key.js";
import { pin, readPins } from "../../remote/host-keys/pins.js";
import { findHost, hostStore } from "../../state/hosts.js";
import type { Session } from "../session.js";
import { reachNew } from "./reach.js";

export interface Retrusted {
  name: string;
  before: string[];
  after: string;
  changed: boolean;
}

/** Trust: the key the host shows now replaces the pinned one, after a person or a fingerprint vouched for it. */
export async function trustHost(session: Session, name: string, sha256?: string): Promise<Retrusted> {
  const { hosts } = hostStore(session.configDir).read();
  const host = findHost(hosts, name);
  const before = (await readPins(session.configDir, name)).map((key) => fingerprint(key.blob));
  if (before.length > 0) session.ui.note(`pinned until now: ${before.join(", ")}`);

  const { connection, agreed } = await reachNew(session, host, { fingerprint: sha256 }, session.trust.forgetting(name));
  connection.close();
  const after = fingerprint(connection.hostKey.blob);
  const result = { name, before, after, changed: !before.includes(after) };
  if (!result.changed) return result;

  const deed = { verb: "host trust", target: name, summary: `pin ${after} for ${name}` };
  await session.gate.pass(deed, async () => {
    for (const [alias, key] of agreed) await pin(session.configDir, alias, key);
  });
  return result;
}
