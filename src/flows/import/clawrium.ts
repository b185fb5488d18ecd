import { loadType } from "../../agents/manifest/registry.js";
import { Secret } from "../../secret.js";
import { providerTypes } from "../provider/types.js";
import type { Session } from "../session.js";
import { backUp } from "./backup.js";
import { readFleet } from "./clawrium/read.js";
import { takeFleet } from "./clawrium/take.js";
import type { Row, Taken } from "./clawrium/taken.js";
import { type Compared, compareAgents } from "./compare.js";
import { type Called, callHosts } from "./reach.js";
import { type Settled, settle } from "./settle.js";
import { findSource, keysIn, type Source } from "./source.js";
import { writeFleet } from "./write.js";

export interface ImportWish {
  /** Clawrium's directory; without it, where it is most likely. */
  from?: string | undefined;
  /** `OLD=NAME`: what a host is called from now on. */
  hostNames: string[];
  acceptNew: boolean;
  /** Call the hosts and look at the agents on them. */
  check: boolean;
  /** Told what will be taken over, before anything is asked. */
  onPlan: (rows: Row[]) => void;
}

export interface Imported {
  from: string;
  rows: Row[];
  /** Something was written. */
  changed: boolean;
  /** Where a copy of everything is that was there before. */
  backup?: string;
  /** Hosts that could not be called, or whose key nobody vouched for. */
  untrusted: { host: string; reason: string; fix: string }[];
  compared: Compared[];
}

/** Import: a fleet of Clawrium's becomes one of clm's, whole or not at all. Nothing is changed on any host. */
export async function importClawrium(session: Session, wish: ImportWish): Promise<Imported> {
  const source = findSource(session, wish.from);
  if (!source) return nothingLeft(session);
  const taken = await readAndTake(session, source, wish.hostNames);
  const plan = settleNow(session, taken, source);
  wish.onPlan(plan.rows);
  const result: Imported = { from: source.directory, rows: plan.rows, changed: false, untrusted: [], compared: [] };
  // In place an empty fleet is still to be made clm's.
  if (plan.nothing && !source.inPlace) return result;

  const what = countsOf(plan);
  const action = {
    verb: "import clawrium",
    target: source.directory,
    summary: `take over ${what} from ${source.directory}`,
    question: `Take over ${what}?`,
  };
  const done = await session.gate.pass(action, async () => {
    const called = await callAll(session, plan, { ...wish, directory: source.directory });
    return session.withFleetLock(async () => {
      const now = settleNow(session, taken, source);
      const fresh = called.filter(({ host }) => now.hosts.some(({ name }) => name === host.name));
      const backup = source.resumed ?? backUp(session.configDir, session.now());
      await writeFleet(session, now, fresh, source);
      return { backup, called: fresh };
    });
  });
  if (!done) return result;
  const names = [...plan.hosts.map(({ name }) => name), ...Object.keys(plan.agents)];
  return {
    ...result,
    changed: true,
    ...(done.backup && { backup: done.backup }),
    untrusted: done.called.flatMap(({ host, trouble }) => (trouble ? [{ host: host.name, ...trouble }] : [])),
    compared: wish.check ? await compareAgents(session, names) : [],
  };
}

async function readAndTake(session: Session, source: Source, hostNames: string[]): Promise<Taken> {
  const { configDir, ui, now } = session;
  const old = readFleet(source);
  for (const bucket of Object.values(old.secrets)) {
    for (const { value } of Object.values(bucket)) ui.hide(new Secret(value));
  }
  const { manifest } = await loadType(configDir, "hermes");
  const types = await providerTypes(configDir);
  return takeFleet({ old, manifest, types, configDir, now: now().toISOString(), hostNames });
}

function settleNow(session: Session, taken: Taken, { inPlace, foreign }: Source): Settled {
  const present = {
    fleet: foreign["hosts.json"] === undefined ? session.hosts.read() : { hosts: [] },
    providers: foreign["providers.json"] === undefined ? session.providers.read() : { providers: {} },
    secrets: session.secrets,
    keys: keysIn(session.configDir),
  };
  return settle(taken, present, inPlace);
}

async function callAll(
  session: Session,
  { hosts }: Settled,
  { check, ...how }: ImportWish & { directory: string },
): Promise<Called[]> {
  if (check) return callHosts(session, hosts, how);
  return hosts.map((host) => ({ host, agreed: new Map() }));
}

function countsOf({ hosts, agents, providers }: Settled): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const all = [...hosts.map((host) => host.agents), ...Object.values(agents)];
  const number = all.reduce((sum, each) => sum + Object.keys(each).length, 0);
  const known = Object.keys(providers).length;
  return `${count(hosts.length, "host")}, ${count(number, "agent")} and ${count(known, "provider")}`;
}

const nothingLeft = ({ configDir }: Session): Imported => ({
  ...{ from: configDir, rows: [], changed: false, untrusted: [], compared: [] },
});
