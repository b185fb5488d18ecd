import { Fault } from "../../errors.js";
import type { HostName } from "../../names.js";
import { pin } from "../../remote/host-keys/pins.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";
import { factsToRecord } from "./facts-to-record.js";
import { connectFirstTime, type KeyApproval } from "./first-contact.js";

interface NewHost extends KeyApproval, Pick<Host, "address" | "port" | "user" | "identity" | "labels"> {
  name: HostName;
}

/** Nothing is changed on the host. */
export async function addHost(session: Session, newHost: NewHost): Promise<Host> {
  const { configDir, gate, hosts, withFleetLock } = session;
  const { fingerprint, acceptNew, ...target } = newHost;
  const { name, address } = target;
  mustBeFree(hosts.read().hosts, name);

  const trust = session.trust.forgetting(name);
  const { connection, approved } = await connectFirstTime(session, target, { fingerprint, acceptNew }, trust);
  const facts = await factsToRecord(session, connection).finally(() => connection.close());
  const record: Host = { ...target, added_at: session.now().toISOString(), ...facts, agents: {} };

  await gate.pass({ verb: "host add", target: name, summary: `add host ${name} at ${address}` }, () =>
    withFleetLock(async () => {
      mustBeFree(hosts.read().hosts, name);
      // A pin without a record is harmless: the next `host add` ignores it.
      for (const [alias, key] of approved) await pin(configDir, alias, key);
      await hosts.update((fleet) => ({ ...fleet, hosts: [...fleet.hosts, record] }));
    }),
  );
  return record;
}

function mustBeFree(hosts: Host[], name: string): void {
  if (!hosts.some((host) => host.name === name)) return;
  throw new Fault("already-exists", `a host called ${name} already exists`, {
    next: [`clm host show ${name}`, `clm host update ${name} --address ADDRESS`],
  });
}
