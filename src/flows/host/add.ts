import { Fault } from "../../errors.js";
import { readFacts } from "../../remote/facts.js";
import { pin } from "../../remote/host-keys/pins.js";
import type { Host } from "../../state/hosts.js";
import type { Session } from "../session.js";
import { recordedFacts } from "./facts.js";
import { type Introduction, reachNew } from "./reach.js";

export interface HostWish extends Introduction {
  name: string;
  address: string;
  port?: number | undefined;
  user?: string | undefined;
  identity?: string | undefined;
  labels: Record<string, string>;
}

/** Add: the host's key is pinned, its facts are recorded. Nothing is changed on the host. */
export async function addHost(session: Session, wish: HostWish): Promise<Host> {
  const { fingerprint, acceptNew, ...target } = wish;
  mustBeFree(session.hosts.read().hosts, wish);

  const { connection, agreed } = await reachNew(
    session,
    target,
    { fingerprint, acceptNew },
    session.trust.forgetting(wish.name),
  );
  const facts = await readFacts(connection, session.now, session.signal).finally(() => connection.close());
  const record: Host = {
    ...target,
    added_at: session.now().toISOString(),
    sudo: facts.sudo,
    facts: recordedFacts(facts, session.now()),
    agents: {},
  };

  const deed = { verb: "host add", target: wish.name, summary: `add host ${wish.name} at ${wish.address}` };
  await session.gate.pass(deed, () =>
    session.inFleet(async () => {
      mustBeFree(session.hosts.read().hosts, wish);
      // A pin without a record is harmless: the next `host add` does not look at it.
      for (const [alias, key] of agreed) await pin(session.configDir, alias, key);
      await session.hosts.update((fleet) => ({ ...fleet, hosts: [...fleet.hosts, record] }));
    }),
  );
  return record;
}

function mustBeFree(hosts: Host[], { name }: HostWish): void {
  if (!hosts.some((host) => host.name === name)) return;
  throw new Fault("already-exists", `there is a host called ${name} already`, {
    next: [`clm host show ${name}`, `clm host update ${name} --address ADDRESS`],
  });
}
