import { fill } from "../../agents/files/template.js";
import type { Manifest } from "../../agents/manifest/manifest.js";
import { textsToRead } from "../../agents/plan/managed-file.js";
import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { currentChannels, withoutSecretsIn } from "../../agents/probe/proof/connections.js";
import { parseStatusObservations, type StatusObservation } from "../../agents/probe/status/observation.js";
import { refreshStatus } from "../../agents/probe/status/refresh.js";
import { type ProbeTarget, quickStatusScript, statusScript } from "../../agents/probe/status/script.js";
import type { KeyTrouble } from "../../agents/probe/status/troubles.js";
import { saysVersion } from "../../agents/probe/version-line.js";
import { atMost } from "../../async/limit.js";
import { waitFor } from "../../async/wait.js";
import { asFault, Fault, isFault } from "../../errors.js";
import { askHostPartially } from "../../remote/ask-host.js";
import type { Shell } from "../../remote/process.js";
import { providersOf } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Provider } from "../../state/providers.js";
import { own } from "../../text/own-property.js";
import type { Ui } from "../../ui/ui.js";
import { apiKeyOf, keyRefOf } from "../agent/api-key.js";
import { newSalt } from "../agent/salt.js";
import { resolve } from "../agent/target.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { type AgentStatus, saveStatuses, statusFrom, unreachable } from "./agent-status.js";
import type { DesiredOrFault } from "./drift.js";
import { byHost, rootOn } from "./host.js";

export interface HostProbeOptions {
  drift: boolean;
  /** Milliseconds for a host with a few agents, from the first packet to the last answer. */
  timeout?: number | undefined;
}

export interface FleetProbeOptions extends HostProbeOptions {
  /** Hosts at once. */
  parallel: number;
  /** Called for each host when it has answered. */
  onHostDone?: (host: Host) => void;
}

const probeTimeout = 90_000;
const quickTimeout = 15_000;
/** The part of the time that is reserved for the drift check. */
const driftShare = 0.25;
/** Agents that a host probes in parallel; more take longer. */
const agentsPerTimeout = 8;

/** Loaded while the connection is being made. */
const loadDrift = () => import("./drift.js");

/** Probes agents, all hosts in parallel, each with one connection and one exec. Changes nothing there. */
export async function probeAgents(
  session: Session,
  agents: readonly Agent[],
  { parallel, onHostDone, ...probeOptions }: FleetProbeOptions,
): Promise<AgentStatus[]> {
  hideSecrets(session);
  const perHost = atMost(parallel, byHost(agents), async ({ host, agents: agentsOnHost }) => {
    const found = await probeAgentsOn(session, agentsOnHost, probeOptions);
    onHostDone?.(host);
    return found;
  });
  const found = (await Promise.all(perHost)).flat();
  saveStatuses(session, found);
  return agents.map((agent) => found.find((each) => each.agent === agent) ?? unreachable(session, agent));
}

export async function probeAgentsOn(
  session: Session,
  agents: readonly Agent[],
  { drift, timeout = probeTimeout }: HostProbeOptions,
): Promise<AgentStatus[]> {
  const [first] = agents;
  if (!first) return [];
  const probe = new HostProbe(session, first.host, timeout, agents.length);
  try {
    const salt = newSalt();
    // Reading manifests takes about as long as the handshake: both at once.
    const [root, targets] = await Promise.all([
      probe.root(),
      Promise.all(agents.map((agent) => targetFor(session, agent, drift ? salt : undefined).catch(asFault))),
    ]);
    const probeable = agents.flatMap((agent, at) => {
      const target = targets[at];
      return target && !(target instanceof Fault) ? [{ agent, target, ...keyOf(session, agent, target) }] : [];
    });
    const { observations, fault } = await probe.ask(
      root,
      statusScript(probeable.map(({ target }) => target)),
      probeable.length,
      {
        timeout: probe.left(drift ? driftShare : 0),
        stdin: probeable.map(({ secret }) => `${secret}\n`).join(""),
      },
    );
    const observed = probeable.flatMap(({ agent, target, key }, at) => {
      const observation = observations[at] && withoutSecrets(session.ui, observations[at], target.resolved);
      return observation ? [{ agent, target, key, observation }] : [];
    });
    const drifts = drift
      ? await (await loadDrift()).driftOnHost(session, root, observed, { salt, timeout: probe.left() })
      : [];
    const found = observed.map(({ agent, ...result }, at) =>
      statusFrom(session, agent, { ...result, drift: drifts[at] }),
    );
    return agents.map((agent, at) => {
      const why = targets[at] instanceof Fault ? targets[at] : fault;
      return found.find((each) => each.agent === agent) ?? unreachable(session, agent, why);
    });
  } catch (error) {
    session.signal.throwIfAborted();
    return agents.map((agent) => unreachable(session, agent, asFault(error)));
  } finally {
    probe.end();
  }
}

/** One probe of a host's agents, with one deadline. Its time runs from the first packet to the last answer. */
class HostProbe {
  readonly #deadline;
  readonly #total: number;

  constructor(
    private readonly session: Session,
    private readonly host: Host,
    timeout: number,
    count: number,
  ) {
    this.#total = timeout * Math.ceil(count / agentsPerTimeout);
    this.#deadline = session.clock.deadline(this.#total, () => tooSlow(host, this.#total, false));
  }

  root(): Promise<Shell> {
    const signal = AbortSignal.any([this.session.signal, this.#deadline.signal]);
    return waitFor(rootOn(this.session, this.host), { signal });
  }

  /** Milliseconds left, of which this share of the whole is kept for what comes later. */
  left(share = 0): number {
    return Math.max(1, this.#deadline.left() - this.#total * share);
  }

  /** The observations that arrived in time, and why the others did not. */
  async ask(root: Shell, script: string, count: number, { stdin = "", timeout = this.left() } = {}): Promise<Answers> {
    if (count === 0) return { observations: [] };
    const { signal } = this.session;
    const asking = { host: this.host.name, what: "the status of its agents", stdin, timeout, signal };
    const { text, fault } = await askHostPartially(root, script, asking);
    const observations = parseStatusObservations(text, count);
    const late = isFault(fault, "remote-timeout");
    return { observations, fault: late ? tooSlow(this.host, this.#total, observations.some(Boolean)) : fault };
  }

  end(): void {
    this.#deadline.stop();
  }
}

interface Answers {
  observations: (StatusObservation | undefined)[];
  fault?: Fault;
}

const tooSlow = ({ name }: Host, timeout: number, some: boolean): Fault =>
  new Fault("remote-timeout", `${name} did not report its status within ${timeout / 1000} s`, {
    ...(some && { why: "it reported other agents" }),
    next: `clm host check ${name}`,
  });

/**
 * Redacts output before it is shortened. Expected words stay: a secret may be any word, and with `connected` redacted a
 * channel would be judged by the wrong state.
 */
function withoutSecrets(
  ui: Pick<Ui, "redact">,
  observation: StatusObservation,
  resolved: ResolvedAgent,
): StatusObservation {
  const redact = (text: string) => ui.redact(text);
  const { words, lastError } = observation;
  const basics = { ...observation.basics, ...withoutSecretsIn(observation.basics, redact, resolved) };
  if (basics.version !== undefined && !saysVersion(resolved, basics.version)) basics.version = redact(basics.version);
  return {
    ...observation,
    basics,
    words: words.map(redact),
    channels: currentChannels(basics),
    ...(lastError !== undefined && { lastError: redact(lastError) }),
  };
}

/** Undefined: the agent changed and needs a full probe. No key is sent, because agents log refused keys. */
export async function quickProbeOn(
  session: Session,
  before: readonly AgentStatus[],
): Promise<(AgentStatus | undefined)[]> {
  const known = before.flatMap(({ agent, target, observation }) => (target && observation ? [{ agent, target }] : []));
  const [first] = known;
  if (!first) return before.map(() => undefined);
  const probe = new HostProbe(session, first.agent.host, quickTimeout, known.length);
  try {
    const script = quickStatusScript(known.map(({ target }) => target));
    const { observations } = await probe.ask(await probe.root(), script, known.length);
    const answers = new Map(known.map(({ agent }, at) => [agent, observations[at]]));
    return before.map((found) => {
      const { agent, target, observation: full, key, drift, provenAt } = found;
      // A slow agent would delay the others if it was fully probed every time.
      if (!target || !full) return isFault(found.fault, "remote-timeout") ? found : undefined;
      const answer = answers.get(agent);
      const observation = answer && refreshStatus(full, withoutSecrets(session.ui, answer, target.resolved));
      return observation && statusFrom(session, agent, { target, observation, key, drift, provenAt });
    });
  } catch {
    session.signal.throwIfAborted();
    return before.map(() => undefined);
  } finally {
    probe.end();
  }
}

/** What to ask about an agent. With a salt, also what its configuration should be. */
export async function targetFor(
  session: Session,
  agent: Agent,
  salt: string | undefined,
): Promise<ProbeTarget & { expected?: DesiredOrFault }> {
  const resolved = await resolve(session, agent);
  const { manifest } = resolved;
  const { providers } = session.providers.read();
  const addresses = new Map(providersOf(agent.record).map((name) => [name, addressOf(manifest, own(providers, name))]));
  const { provider: main = "" } = agent.record;
  const expected = salt ? await (await loadDrift()).expectedOf(session, agent) : undefined;
  const others = [...addresses].flatMap(([name, address]) => (address && name !== main ? [[name, address]] : []));
  return {
    resolved,
    reach: addresses.get(main),
    others: Object.fromEntries(others),
    ...(salt && {
      expected,
      planned: { salt, texts: textsToRead(expected && "files" in expected ? expected.files : []) },
    }),
  };
}

/** The origin of a provider's API; undefined when the manifest names none. No credentials. */
function addressOf({ providers }: Manifest, provider: Provider | undefined): string | undefined {
  if (!provider) return undefined;
  const { type, fields } = provider;
  const { test } = own(providers, type) ?? {};
  const url = (test && fill(test.url, fields)) || fields.endpoint;
  return url && URL.canParse(url) ? `${new URL(url).origin}/` : undefined;
}

/** An agent without a key is probed without one. */
function keyOf(session: Session, agent: Agent, { resolved }: ProbeTarget): { secret: string; key?: KeyTrouble } {
  try {
    const { key, pending } = apiKeyOf(session, keyRefOf(agent, resolved.manifest));
    return { secret: key.reveal(), ...(pending && { key: "changing" }) };
  } catch {
    return { secret: "", key: "missing" };
  }
}
