import { join } from "node:path";
import { pin } from "../../remote/host-keys/pins.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import type { Store } from "../../state/store.js";
import type { Session } from "../session.js";
import { keyFile } from "./clawrium/convert-fleet.js";
import type { ContactedHost } from "./contact-hosts.js";
import type { ImportPlan } from "./import-plan.js";
import type { Source } from "./source.js";

/** hosts.json goes last: until then there is no new host, and the same command finishes an interrupted run. */
export async function writeFleet(
  session: Session,
  plan: ImportPlan,
  contacted: ContactedHost[],
  source: Source,
): Promise<void> {
  const { configDir, secrets, providers, hosts } = session;
  for (const [keyId, text] of Object.entries(plan.keys)) {
    const path = join(configDir, keyFile(keyId));
    openSubdirectory(join(configDir, "keys"), keyId);
    writeAtomic(path, text, { mode: 0o600 });
  }
  for (const [alias, key] of contacted.flatMap(({ approved }) => [...approved])) await pin(configDir, alias, key);
  if (plan.secrets.length > 0 || plan.gone.length > 0) await secrets.adopt(plan.secrets, plan.gone);
  await writeInto(providers, { providers: {} }, source.foreign["providers.json"], (content) => ({
    ...content,
    providers: { ...content.providers, ...plan.providers },
  }));
  await writeInto(hosts, { hosts: [] }, source.foreign["hosts.json"], (fleet) => ({
    ...fleet,
    hosts: [
      ...fleet.hosts.map((host) => ({ ...host, agents: { ...host.agents, ...plan.agents[host.name] } })),
      ...contacted.map(({ host }) => host),
    ],
  }));
}

async function writeInto<T extends object>(
  store: Store<T>,
  empty: T,
  foreign: string | undefined,
  change: (content: T) => T,
): Promise<void> {
  if (foreign !== undefined) await store.replaceForeign(change(empty), foreign);
  else await store.update(change);
}
