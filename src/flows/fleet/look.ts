import { randomBytes } from "node:crypto";
import { brief } from "../../agents/proof/judge.js";
import { addressOf } from "../../agents/reach.js";
import { loadType } from "../../agents/registry.js";
import { glanceScript, type Looked, sightScript } from "../../agents/sight/script.js";
import { type Sight, sightsFrom } from "../../agents/sight/sight.js";
import { type Standing, type State, standingOf, type Wanted } from "../../agents/sight/state.js";
import { stillSo } from "../../agents/sight/still.js";
import { type Subject, subjectOf } from "../../agents/subject.js";
import { asFault, Fault } from "../../errors.js";
import { atMost } from "../../limit.js";
import type { Connection } from "../../remote/connection.js";
import { inOneShell } from "../../remote/one-shell.js";
import { commandFor } from "../../remote/operations/conversation.js";
import type { Shell } from "../../remote/process.js";
import { run } from "../../remote/run.js";
import { type Agent, agentsOf, instanceOf, titleOf } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import { keepSightings, readSightings, type Sighting } from "../../state/sightings.js";
import { apiKeyOf } from "../agent/api-key.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { type Drift, driftOnHost } from "./drift.js";

/** How one agent is, as its host tells it now. */
export interface Found {
  agent: Agent;
  state: State;
  reason?: string | undefined;
  /** When it was looked at. */
  at: string;
  wanted: Wanted;
  /** Nothing when its host could not be asked. */
  sight?: Sight;
  subject?: Subject;
  proofs: Standing["proofs"];
  /** In what it is not as it was configured, when that was asked. */
  drift?: Drift | undefined;
  /** The model that answers for it: its own, or its provider's. */
  model?: string | undefined;
  /** How it last was, when its host cannot be asked. */
  last?: Sighting | undefined;
  fault?: Fault;
}

export interface Looking {
  /** Hosts at once. */
  parallel: number;
  /** Also in what each is not as it was configured. */
  drift: boolean;
  /** Told of every host as it comes. */
  tell?: (host: Host, found: Found[]) => void;
}

// The longest is a program that is slow to tell its version.
const lookTimeout = 90_000;
const glanceTimeout = 15_000;

/** Looks at agents on their hosts, all hosts at once, each with one connection and one exec. Changes nothing there. */
export async function lookAtAgents(
  session: Session,
  agents: readonly Agent[],
  { parallel, drift, tell = () => {} }: Looking,
): Promise<Found[]> {
  hideSecrets(session);
  const perHost = atMost(parallel, byHost(agents), async (those) => {
    const found = await lookAtHost(session, those, drift);
    if (those[0]) tell(those[0].host, found);
    return found;
  });
  const found = (await Promise.all(perHost)).flat();
  remember(session, found);
  return agents.map((agent) => found.find((each) => each.agent === agent) ?? lost(session, agent));
}

export const byHost = (agents: readonly Agent[]): Agent[][] =>
  [...new Set(agents.map(({ host }) => host.name))].map((name) => agents.filter(({ host }) => host.name === name));

/** Keeps what was seen, for a time when a host cannot be asked. Whoever may not write there can look all the same. */
export function remember({ configDir, hosts, ui }: Session, found: readonly Found[]): void {
  const seen = found.flatMap(({ agent, state, reason, at, sight }): [string, Sighting][] =>
    sight ? [[titleOf(agent), { at, state, ...(reason && { reason }), version: brief(sight.seen.version ?? "") }]] : [],
  );
  if (seen.length === 0) return;
  const there = new Set(agentsOf(hosts.read()).map(titleOf));
  if (!keepSightings(configDir, Object.fromEntries(seen), (key) => there.has(key)))
    ui.debug(`what was seen could not be kept in ${configDir}`);
}

/** A whole look at agents of one host. */
export async function lookAtHost(session: Session, agents: readonly Agent[], drift: boolean): Promise<Found[]> {
  const [first] = agents;
  if (!first) return [];
  try {
    const salt = randomBytes(16).toString("hex");
    // Reading manifests takes about as long as the handshake: both at once.
    const [root, looked] = await Promise.all([
      rootOn(session, first.host),
      Promise.all(agents.map((agent) => lookedFor(session, agent, drift ? salt : undefined).catch(asFault))),
    ]);
    const able = agents.flatMap((agent, at) => {
      const of = looked[at];
      return of && !(of instanceof Fault) ? [{ agent, of }] : [];
    });
    const script = sightScript(able.map(({ of }) => of));
    const keys = able.map(({ agent, of }) => keyOf(session, agent, of));
    const { stdout, stderr, code } = await run(root, commandFor(script), {
      stdin: `${script}${keys.map((key) => `${key}\n`).join("")}`,
      keepStdin: true,
      timeout: lookTimeout,
      signal: session.signal,
    });
    const sights = sightsFrom(stdout, able.length);
    const seen = able.flatMap(({ agent, of: { subject } }, at) => {
      const sight = sights[at];
      return sight ? [{ agent, sight, seen: sight.seen, subject }] : [];
    });
    const drifts = drift ? await driftOnHost(session, root, seen, salt) : [];
    const found = seen.map(({ agent, subject, sight }, at) =>
      foundBy(session, agent, { subject, sight, drift: drifts[at] }),
    );
    return agents.map((agent, at) => {
      const fault = looked[at] instanceof Fault ? looked[at] : brokeOff(first.host, stderr, code);
      return found.find((each) => each.agent === agent) ?? lost(session, agent, fault);
    });
  } catch (error) {
    session.signal.throwIfAborted();
    return agents.map((agent) => lost(session, agent, asFault(error)));
  }
}

const roots = new WeakMap<Connection, Promise<Shell>>();

/** Root's shell on a host, the same for as long as the connection lasts: who watches looks often. */
export async function rootOn({ pool }: Session, host: Host): Promise<Shell> {
  const connection = await pool.connect(host);
  const root = roots.get(connection) ?? inOneShell(connection.as("root"));
  roots.set(connection, root);
  root.catch(() => roots.delete(connection));
  return root;
}

/**
 * A short look at agents that were looked at before: those that are as they were are told anew, and nothing is told of one
 * that is due for a whole look. No key is sent, so that watching leaves no refused ones in the agents' logs.
 */
export async function glanceAtHost(session: Session, before: readonly Found[]): Promise<(Found | undefined)[]> {
  const known = before.flatMap(({ subject, sight }) => (subject && sight ? [{ subject, sight }] : []));
  const [first] = before;
  if (!first || known.length < before.length) return before.map(() => undefined);
  try {
    const root = await rootOn(session, first.agent.host);
    const script = glanceScript(known);
    const { stdout } = await run(root, commandFor(script), {
      stdin: script,
      keepStdin: true,
      timeout: glanceTimeout,
      signal: session.signal,
    });
    return sightsFrom(stdout, before.length).map((glance, at) => {
      const [found, whole] = [before[at], known[at]];
      const sight = glance && whole && stillSo(whole.sight, glance);
      return sight && found && foundBy(session, found.agent, { ...whole, sight, drift: found.drift });
    });
  } catch (error) {
    session.signal.throwIfAborted();
    return before.map(({ agent }) => lost(session, agent, asFault(error)));
  }
}

function foundBy(
  session: Session,
  agent: Agent,
  { subject, sight, drift }: { subject: Subject; sight: Sight; drift: Drift | undefined },
): Found {
  const wanted = wantedOf(agent);
  const { changes, lost } = drift && "changes" in drift ? drift : { changes: [], lost: [] };
  // That its unit would be started anew follows from what else differs.
  const differs = changes.filter(({ differences }) => !differences.every((each) => each.startsWith("restart")));
  const { state, reason, proofs } = standingOf(subject, sight, {
    wanted,
    drift: [...differs, ...lost].map(({ what }) => what),
  });
  return {
    ...{ agent, state, wanted, at: stamp(session), sight, subject, proofs, drift, model: modelOf(session, agent) },
    reason: session.ui.redact([unfinished(agent), reason].filter(Boolean).join("; ")) || undefined,
  };
}

/** Somebody began something with it that did not come to its end. */
function unfinished({ record: { status } }: Agent): string | undefined {
  return {
    installing: "its installation was not finished",
    removing: "its removal was not finished",
    installed: undefined,
  }[status];
}

function wantedOf({ record: { down, onboarding } }: Agent): Wanted {
  if (down) return "rest";
  return onboarding.state === "ready" ? "run" : "nothing";
}

const modelOf = ({ providers }: Session, { record }: Agent): string | undefined =>
  record.model ?? providers.read().providers[record.provider ?? ""]?.model;

const stamp = ({ now }: Session): string => now().toISOString();

/** Of an agent whose host cannot be asked. */
function lost(session: Session, agent: Agent, fault?: Fault): Found {
  const last = readSightings(session.configDir)[titleOf(agent)];
  return {
    ...{ agent, state: "unreachable", wanted: wantedOf(agent), at: stamp(session), proofs: [], last },
    ...{ model: modelOf(session, agent), ...(fault && { fault }) },
    ...(fault && { reason: session.ui.redact([fault.message, ...fault.why].join(": ")) }),
  };
}

async function lookedFor(session: Session, agent: Agent, salt: string | undefined): Promise<Looked> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const provider = session.providers.read().providers[agent.record.provider ?? ""];
  const reach = provider && addressOf(manifest, provider.type, provider.fields);
  return { subject: subjectOf(manifest, agent), reach, ...(salt && { rendered: { salt } }) };
}

/** An agent without a key is looked at all the same, and not asked anything. */
function keyOf(session: Session, agent: Agent, { subject }: Looked): string {
  try {
    const name = subject.manifest.api.secret;
    return apiKeyOf(session, { instance: instanceOf(agent), name }).key.reveal();
  } catch {
    return "";
  }
}

export const brokeOff = (host: Host, stderr: string, code: number | null): Fault =>
  new Fault("remote-failed", `${host.name} could not tell how its agents are`, {
    why: stderr.trim().split("\n").slice(-3).join(" ") || `its script ended with ${code}`,
    next: `clm host check ${host.name}`,
  });
