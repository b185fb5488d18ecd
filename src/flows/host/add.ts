import { Fault } from "../../errors.js";
import { readFacts } from "../../remote/facts.js";
import { pin } from "../../remote/host-keys/pins.js";
import { type Host, hostStore } from "../../state/hosts.js";
import type { Session } from "../session.js";
import { type Introduction, reachNew } from "./reach.js";
import { recordedFacts } from "./refresh.js";

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
  const hosts = hostStore(session.configDir);
  mustBeFree(hosts.read().hosts, wish);

  const { connection, agreed } = await reachNew(session, target, { fingerprint, acceptNew }, session.trust);
  const facts = await readFacts(connection, session.now, session.signal).finally(() => connection.close());
  const record: Host = {
    ...target,
    added_at: session.now().toISOString(),
    sudo: facts.sudo,
    facts: recordedFacts(facts, session.now()),
    agents: {},
  };

  const deed = { verb: "host add", target: wish.name, summary: `add host ${wish.name} at ${wish.address}` };
  await session.gate.pass(deed, async () => {
    // A pin without a record is harmless and found again by the next `host add`; a record without a pin would not be.
    for (const [alias, key] of agreed) await pin(session.configDir, alias, key);
    await hosts.update((file) => {
      mustBeFree(file.hosts, wish);
      return { ...file, hosts: [...file.hosts, record] };
    });
  });
  return record;
}

function mustBeFree(hosts: Host[], { name }: HostWish): void {
  if (!hosts.some((host) => host.name === name)) return;
  throw new Fault("already-exists", `there is a host called ${name} already`, {
    next: [`clm host show ${name}`, `clm host update ${name} --address ADDRESS`],
  });
}
