import { join } from "node:path";
import { loadType } from "../../agents/manifest/registry.js";
import { pin } from "../../remote/host-keys/pins.js";
import { Secret } from "../../secret.js";
import { writeAtomic } from "../../state/atomic-file.js";
import { openSubdirectory } from "../../state/config-dir.js";
import type { Store } from "../../state/store.js";
import { providerTypes } from "../provider/types.js";
import type { Session } from "../session.js";
import { backUpConfigDir } from "./backup.js";
import type { ConvertedFleet, ImportRow } from "./clawrium/conversion.js";
import { convertFleet, keyFile } from "./clawrium/convert-fleet.js";
import { readFleet } from "./clawrium/read-fleet.js";
import { type Compared, compareAgents } from "./compare.js";
import { type ContactedHost, contactHosts } from "./contact-hosts.js";
import { type ImportPlan, planImport } from "./import-plan.js";
import { findSource, type Source } from "./source.js";

export interface ImportOptions {
  /** Clawrium's directory; by default the most likely one. */
  from?: string | undefined;
  /** `OLD=NAME`: new names of hosts. */
  hostNames: string[];
  acceptNew: boolean;
  /** Contact the hosts and compare the agents on them. */
  check: boolean;
  /** Called with the plan before any question. */
  onPlan: (rows: ImportRow[]) => void;
}

export interface ImportResult {
  from: string;
  rows: ImportRow[];
  changed: boolean;
  backup?: string;
  /** Hosts that were not reached, or whose key was not approved. */
  untrusted: { host: string; reason: string; fix: string }[];
  compared: Compared[];
}

/** Imports Clawrium's fleet, all or nothing. Nothing is changed on any host. */
export async function importClawrium(session: Session, options: ImportOptions): Promise<ImportResult> {
  const source = findSource(session, options.from);
  const nothing = { changed: false, untrusted: [], compared: [] };
  if (!source) return { ...nothing, from: session.configDir, rows: [] };
  const fleet = await convert(session, source, options.hostNames);
  const plan = planImport(session, fleet, source);
  options.onPlan(plan.rows);
  const unchanged = { ...nothing, from: source.directory, rows: plan.rows };
  // In place, an empty fleet still has to be written in clm's format.
  if (plan.empty && !source.inPlace) return unchanged;

  const summary = summaryOf(plan);
  const action = {
    verb: "import clawrium",
    target: source.directory,
    summary: `import ${summary} from ${source.directory}`,
    question: `Import ${summary}?`,
  };
  const done = await session.gate.pass(action, async () => {
    const contacted: ContactedHost[] = options.check
      ? await contactHosts(session, plan.hosts, { acceptNew: options.acceptNew, directory: source.directory })
      : plan.hosts.map((host) => ({ host, approved: new Map() }));
    return session.withFleetLock(async () => {
      const now = planImport(session, fleet, source);
      const hosts = contacted.filter(({ host }) => now.hosts.some(({ name }) => name === host.name));
      const backup = source.resumed ?? backUpConfigDir(session.configDir, session.now());
      await writeFleet(session, now, hosts, source);
      return { backup, hosts };
    });
  });
  if (!done) return unchanged;
  const names = [...plan.hosts.map(({ name }) => name), ...Object.keys(plan.agents)];
  return {
    ...unchanged,
    changed: true,
    ...(done.backup && { backup: done.backup }),
    untrusted: done.hosts.flatMap(({ host, trouble }) => (trouble ? [{ host: host.name, ...trouble }] : [])),
    compared: options.check ? await compareAgents(session, names) : [],
  };
}

async function convert({ configDir, ui, now }: Session, source: Source, hostNames: string[]): Promise<ConvertedFleet> {
  const old = readFleet(source);
  for (const { value } of Object.values(old.secrets).flatMap(Object.values)) ui.hide(new Secret(value));
  const { manifest } = await loadType(configDir, "hermes");
  const types = await providerTypes(configDir);
  return convertFleet({ old, manifest, types, configDir, now: now().toISOString(), hostNames });
}

/** hosts.json goes last: until then there is no new host, and the same command finishes an interrupted run. */
async function writeFleet(
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

function summaryOf({ hosts, agents, providers }: ImportPlan): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const all = [...hosts.map((host) => host.agents), ...Object.values(agents)].flatMap(Object.keys);
  const providerCount = Object.keys(providers).length;
  return `${count(hosts.length, "host")}, ${count(all.length, "agent")} and ${count(providerCount, "provider")}`;
}
