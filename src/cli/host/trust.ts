import { connectFirstTime } from "../../flows/host/first-contact.js";
import type { Session } from "../../flows/session.js";
import { sameKey } from "../../remote/host-keys/key.js";
import { pin, readPins } from "../../remote/host-keys/pins.js";
import { parseHop } from "../../remote/target/ssh-settings.js";
import type { Target } from "../../remote/target/target.js";
import { findHost } from "../../state/hosts.js";
import { fingerprint, fingerprintFrom } from "../../text/fingerprint.js";
import type { Handler } from "../command.js";
import type { trust } from "./commands.js";

export const run: Handler<typeof trust> = async ({ args: { name }, options }, clm) => {
  const expected = options.fingerprint && fingerprintFrom(options.fingerprint);
  const { key, changed } = await clm.withSession((session) => trustHost(session, name, expected));
  if (!changed) clm.ui.note(`${name} still has the pinned key ${key}`);
  else if (!clm.dryRun) clm.ui.note(`${name} is pinned to ${key}`);
};

/** Replaces the pinned key by the one the host has now, after a person or a fingerprint confirmed it. */
async function trustHost(
  session: Session,
  name: string,
  expected?: string,
): Promise<{ key: string; changed: boolean }> {
  const { configDir, gate, hosts, trust } = session;
  const pinned = await readPins(configDir, name);
  const recorded = hosts.read().hosts.find((host) => host.name === name);
  const target = pinned.length > 0 ? (recorded ?? jumpHost(name)) : findHost(hosts.read().hosts, name);
  const approval = { fingerprint: expected, known: pinned };
  const { connection, approved } = await connectFirstTime(session, target, approval, trust.doubting(name));
  connection.close();

  const pins = await Promise.all([...approved].map(([alias]) => readPins(configDir, alias)));
  const unpinned = [...approved].filter(([, key], at) => !pins[at]?.some((known) => sameKey(known, key)));
  const key = fingerprint(connection.hostKey.blob);
  if (unpinned.length > 0) {
    await gate.pass({ verb: "host trust", target: name, summary: `pin ${key} for ${name}` }, async () => {
      for (const [alias, hostKey] of unpinned) await pin(configDir, alias, hostKey);
    });
  }
  return { key, changed: unpinned.some(([alias]) => alias === name) };
}

/** A jump host has a pin and no record: its name is its address. */
const jumpHost = (name: string): Target => {
  const { hostname, port } = parseHop(name);
  return { name, address: hostname, port, jump: true };
};
