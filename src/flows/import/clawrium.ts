import { loadType } from "../../agents/manifest/registry.js";
import { Secret } from "../../secret.js";
import { providerTypes } from "../provider/types.js";
import type { Session } from "../session.js";
import { backUp } from "./backup.js";
import type { ConvertedFleet, ImportRow } from "./clawrium/conversion.js";
import { convertFleet } from "./clawrium/convert-fleet.js";
import { readFleet } from "./clawrium/read-fleet.js";
import { type Compared, compareAgents } from "./compare.js";
import { type ContactedHost, contactHosts } from "./contact-hosts.js";
import { type ImportPlan, planImport } from "./import-plan.js";
import { findSource, keysIn, type Source } from "./source.js";
import { writeFleet } from "./write-fleet.js";

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
  const plan = planNow(session, fleet, source);
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
      const now = planNow(session, fleet, source);
      const hosts = contacted.filter(({ host }) => now.hosts.some(({ name }) => name === host.name));
      const backup = source.resumed ?? backUp(session.configDir, session.now());
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

function planNow(session: Session, fleet: ConvertedFleet, { inPlace, foreign }: Source): ImportPlan {
  const present = {
    fleet: foreign["hosts.json"] === undefined ? session.hosts.read() : { hosts: [] },
    providers: foreign["providers.json"] === undefined ? session.providers.read() : { providers: {} },
    secrets: session.secrets,
    keys: keysIn(session.configDir),
  };
  return planImport(fleet, present, inPlace);
}

function summaryOf({ hosts, agents, providers }: ImportPlan): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const all = [...hosts.map((host) => host.agents), ...Object.values(agents)].flatMap(Object.keys);
  const providerCount = Object.keys(providers).length;
  return `${count(hosts.length, "host")}, ${count(all.length, "agent")} and ${count(providerCount, "provider")}`;
}
