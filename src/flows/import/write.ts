import { join } from "node:path";
import { pin } from "../../remote/host-keys/pins.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import type { Store } from "../../state/store.js";
import type { Session } from "../session.js";
import { keyFile } from "./clawrium/take.js";
import type { Called } from "./reach.js";
import type { Settled } from "./settle.js";
import type { Source } from "./source.js";

/**
 * Writes what was settled. hosts.json comes last and makes it real: until then clm has no new host, what was added
 * before belongs to nobody, and the same command does the rest.
 */
export async function writeFleet(session: Session, settled: Settled, called: Called[], source: Source): Promise<void> {
  const { configDir, secrets, providers, hosts } = session;
  for (const [keyId, text] of Object.entries(settled.keys)) {
    const path = join(configDir, keyFile(keyId));
    openSubdirectory(join(configDir, "keys"), keyId);
    writeAtomic(path, text, { mode: 0o600 });
  }
  for (const { agreed } of called) for (const [alias, key] of agreed) await pin(configDir, alias, key);
  if (settled.secrets.length > 0 || settled.gone.length > 0) await secrets.adopt(settled.secrets, settled.gone);
  await writeInto(providers, { providers: {} }, source.foreign["providers.json"], (content) => ({
    ...content,
    providers: { ...content.providers, ...settled.providers },
  }));
  await writeInto(hosts, { hosts: [] }, source.foreign["hosts.json"], (fleet) => ({
    ...fleet,
    hosts: [
      ...fleet.hosts.map((host) => ({ ...host, agents: { ...host.agents, ...settled.agents[host.name] } })),
      ...called.map(({ host }) => host),
    ],
  }));
}

async function writeInto<T extends object>(
  store: Store<T>,
  empty: T,
  foreign: string | undefined,
  change: (content: T) => T,
): Promise<void> {
  if (foreign !== undefined) await store.takeOver(change(empty), foreign);
  else await store.update(change);
}
