import { addressOf } from "../../agents/reach.js";
import { loadType } from "../../agents/registry.js";
import { glanceScript, type Looked, sightScript } from "../../agents/sight/script.js";
import { type Sight, sightsFrom } from "../../agents/sight/sight.js";
import { stillSo } from "../../agents/sight/still.js";
import type { KeyTrouble } from "../../agents/sight/troubles.js";
import { subjectOf } from "../../agents/subject.js";
import { asFault, Fault, isFault } from "../../errors.js";
import { atMost } from "../../limit.js";
import { hearHost } from "../../remote/ask-host.js";
import type { Shell } from "../../remote/process.js";
import { providersOf } from "../../state/agent.js";
import { type Agent, instanceOf } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Ui } from "../../ui/ui.js";
import { apiKeyOf } from "../agent/api-key.js";
import { newSalt } from "../agent/rendered.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { driftOnHost } from "./drift.js";
import { type Found, foundBy, lost, remember } from "./found.js";
import { byHost, rootOn } from "./host.js";

export interface LookingAtHost {
  /** Also in what each is not as it was configured. */
  drift: boolean;
  /** Milliseconds that a host may take to tell of a few agents. */
  timeout?: number | undefined;
}

export interface Looking extends LookingAtHost {
  /** Hosts at once. */
  parallel: number;
  /** Told of every host as it comes. */
  tell?: (host: Host, found: Found[]) => void;
}

const lookTimeout = 90_000;
const glanceTimeout = 15_000;
/** So many agents are looked at side by side; more take longer. */
const few = 8;

/** Looks at agents on their hosts, all hosts at once, each with one connection and one exec. Changes nothing there. */
export async function lookAtAgents(
  session: Session,
  agents: readonly Agent[],
  { parallel, tell = () => {}, ...looking }: Looking,
): Promise<Found[]> {
  hideSecrets(session);
  const perHost = atMost(parallel, byHost(agents), async (those) => {
    const found = await lookAtHost(session, those, looking);
    if (those[0]) tell(those[0].host, found);
    return found;
  });
  const found = (await Promise.all(perHost)).flat();
  remember(session, found);
  return agents.map((agent) => found.find((each) => each.agent === agent) ?? lost(session, agent));
}

/** A whole look at agents of one host. */
export async function lookAtHost(
  session: Session,
  agents: readonly Agent[],
  { drift, timeout = lookTimeout }: LookingAtHost,
): Promise<Found[]> {
  const [first] = agents;
  if (!first) return [];
  try {
    const salt = newSalt();
    // Reading manifests takes about as long as the handshake: both at once.
    const [root, looks] = await Promise.all([
      rootOn(session, first.host),
      Promise.all(agents.map((agent) => lookedFor(session, agent, drift ? salt : undefined).catch(asFault))),
    ]);
    const able = agents.flatMap((agent, at) => {
      const looked = looks[at];
      return looked && !(looked instanceof Fault) ? [{ agent, looked, ...keyOf(session, agent, looked) }] : [];
    });
    const script = sightScript(able.map(({ looked }) => looked));
    const { sights, fault } = await sightsBy(root, first.host, {
      ...{ script, count: able.length, signal: session.signal, timeout },
      stdin: able.map(({ secret }) => `${secret}\n`).join(""),
    });
    const seen = able.flatMap(({ agent, looked, key }, at) => {
      const sight = sights[at] && withoutSecrets(session.ui, sights[at]);
      return sight ? [{ agent, looked, key, sight, seen: sight.seen }] : [];
    });
    const drifts = drift ? await driftOnHost(session, root, seen, salt) : [];
    const found = seen.map(({ agent, ...brought }, at) => foundBy(session, agent, { ...brought, drift: drifts[at] }));
    return agents.map((agent, at) => {
      const why = looks[at] instanceof Fault ? looks[at] : fault;
      return found.find((each) => each.agent === agent) ?? lost(session, agent, why);
    });
  } catch (error) {
    session.signal.throwIfAborted();
    return agents.map((agent) => lost(session, agent, asFault(error)));
  }
}

interface Asking {
  script: string;
  /** What follows the script there. */
  stdin?: string;
  count: number;
  /** Milliseconds that a few may take. */
  timeout: number;
  signal: AbortSignal;
}

/** What a host told of each agent, also when it did not come to its end in time; and why nothing is told of the others. */
async function sightsBy(
  root: Shell,
  host: Host,
  { script, stdin = "", count, timeout, signal }: Asking,
): Promise<{ sights: (Sight | undefined)[]; fault?: Fault }> {
  if (count === 0) return { sights: [] };
  const patience = timeout * Math.ceil(count / few);
  const asking = { host: host.name, what: "how its agents are", stdin, timeout: patience, signal };
  const { text, fault } = await hearHost(root, script, asking);
  const sights = sightsFrom(text, count);
  return { sights, fault: isFault(fault, "remote-timeout") ? tooSlow(host, patience, sights.some(Boolean)) : fault };
}

const tooSlow = ({ name }: Host, patience: number, some: boolean): Fault =>
  new Fault("remote-timeout", `${name} did not tell how it is within ${patience / 1000} s`, {
    ...(some && { why: "of others it told" }),
    next: `clm host check ${name}`,
  });

/** What an agent says of itself is its own affair: it may repeat a secret, and is cut later on. */
function withoutSecrets(ui: Pick<Ui, "redact">, sight: Sight): Sight {
  const redact = (text: string) => ui.redact(text);
  const { seen, words, lastError, channels } = sight;
  const clean = Object.entries(channels).map(([name, { state, error }]) => [
    redact(name),
    { state: redact(state), ...(error !== undefined && { error: redact(error) }) },
  ]);
  return {
    ...{ ...sight, words: words.map(redact), channels: Object.fromEntries(clean) },
    seen: { ...seen, ...(seen.version !== undefined && { version: redact(seen.version) }) },
    ...(lastError !== undefined && { lastError: redact(lastError) }),
  };
}

/**
 * A short look at agents that were looked at before: those that are as they were are told anew, and nothing is told of one
 * that is due for a whole look. No key is sent, so that watching leaves no refused ones in the agents' logs.
 */
export async function glanceAtHost(session: Session, before: readonly Found[]): Promise<(Found | undefined)[]> {
  const known = before.flatMap((found) => {
    const { looked, sight } = found;
    return looked && sight ? [{ found, looked, sight }] : [];
  });
  const [first] = known;
  if (!first) return before.map(() => undefined);
  try {
    const root = await rootOn(session, first.found.agent.host);
    const script = glanceScript(known.map(({ looked }) => looked));
    const { sights } = await sightsBy(root, first.found.agent.host, {
      ...{ script, count: known.length, timeout: glanceTimeout, signal: session.signal },
    });
    return before.map((found) => {
      const at = known.findIndex((each) => each.found === found);
      const { looked, sight: whole } = known[at] ?? {};
      // One that took too long would keep the others waiting if it was tried every time.
      if (!looked || !whole) return isFault(found.fault, "remote-timeout") ? found : undefined;
      const glance = sights[at] && withoutSecrets(session.ui, sights[at]);
      const sight = glance && stillSo(whole, glance);
      const { agent, key, drift, provenAt } = found;
      return sight && foundBy(session, agent, { looked, sight, key, drift, provenAt });
    });
  } catch {
    session.signal.throwIfAborted();
    return before.map(() => undefined);
  }
}

async function lookedFor(session: Session, agent: Agent, salt: string | undefined): Promise<Looked> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const { providers } = session.providers.read();
  const reach = (name = "") => {
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
    return provider && addressOf(manifest, provider.type, provider.fields);
  };
  const { provider: own } = agent.record;
  const others = [...new Set(providersOf(agent.record))].flatMap((name): [string, string][] => {
    const address = name === own ? undefined : reach(name);
    return address ? [[name, address]] : [];
  });
  return {
    ...{ subject: subjectOf(manifest, agent), reach: reach(own), others: Object.fromEntries(others) },
    ...(salt && { rendered: { salt } }),
  };
}

/** An agent without a key is looked at all the same, and not asked with one. */
function keyOf(session: Session, agent: Agent, { subject }: Looked): { secret: string; key?: KeyTrouble } {
  try {
    const name = subject.manifest.api.secret;
    const { key, pending } = apiKeyOf(session, { instance: instanceOf(agent), name });
    return { secret: key.reveal(), ...(pending && { key: "changing" }) };
  } catch {
    return { secret: "", key: "missing" };
  }
}
