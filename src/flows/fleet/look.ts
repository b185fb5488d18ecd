import { addressOf } from "../../agents/reach.js";
import { loadType } from "../../agents/registry.js";
import { type Looked, sightScript } from "../../agents/sight/script.js";
import { type Sight, sightsFrom } from "../../agents/sight/sight.js";
import { type Standing, type State, standingOf } from "../../agents/sight/state.js";
import { subjectOf } from "../../agents/subject.js";
import { asFault, Fault } from "../../errors.js";
import { atMost } from "../../limit.js";
import { commandFor } from "../../remote/operations/conversation.js";
import { run } from "../../remote/run.js";
import { type Agent, instanceOf } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import { apiKeyOf } from "../agent/api-key.js";
import type { Session } from "../session.js";

/** How one agent is, as its host tells it now. */
export interface Found {
  agent: Agent;
  state: State;
  reason?: string | undefined;
  /** When it was looked at. */
  at: string;
  /** Nothing when its host could not be asked. */
  sight?: Sight;
  proofs: Standing["proofs"];
  fault?: Fault;
}

// The longest is a program that is slow to tell its version.
const lookTimeout = 90_000;

/** Looks at agents on their hosts, all hosts at once, each with one connection and one exec. Changes nothing. */
export async function lookAtAgents(
  session: Session,
  agents: readonly Agent[],
  { parallel }: { parallel: number },
): Promise<Found[]> {
  // Whatever an agent says of itself is told, and it knows more secrets than its own key.
  for (const secret of session.secrets.all()) session.ui.hide(secret);
  const hosts = [...new Set(agents.map(({ host }) => host.name))];
  const perHost = atMost(parallel, hosts, (name) =>
    lookAtHost(
      session,
      agents.filter(({ host }) => host.name === name),
    ),
  );
  const found = (await Promise.all(perHost)).flat();
  return agents.map((agent) => found.find((each) => each.agent === agent) ?? lost(session, agent));
}

async function lookAtHost(session: Session, agents: Agent[]): Promise<Found[]> {
  const [first] = agents;
  if (!first) return [];
  try {
    // Reading manifests takes about as long as the handshake: both at once.
    const [connection, looked] = await Promise.all([
      session.pool.connect(first.host),
      Promise.all(agents.map((agent) => lookedFor(session, agent))),
    ]);
    const script = sightScript(looked);
    const keys = agents.map((agent, at) => keyOf(session, agent, looked[at]));
    const { stdout, stderr, code } = await run(connection.as("root"), commandFor(script), {
      stdin: `${script}${keys.map((key) => `${key}\n`).join("")}`,
      keepStdin: true,
      timeout: lookTimeout,
      signal: session.signal,
    });
    const sights = sightsFrom(stdout, agents.length);
    return agents.map((agent, at) => {
      const [sight, of] = [sights[at], looked[at]];
      if (!sight || !of) throw brokeOff(first.host, stderr, code);
      const { state, reason, proofs } = standingOf(of.subject, sight);
      return { agent, state, reason: reason && session.ui.redact(reason), at: stamp(session), sight, proofs };
    });
  } catch (error) {
    session.signal.throwIfAborted();
    const fault = asFault(error);
    return agents.map((agent) => ({
      ...lost(session, agent),
      reason: [fault.message, ...fault.why].join(": "),
      fault,
    }));
  }
}

const stamp = ({ now }: Session): string => now().toISOString();

const lost = (session: Session, agent: Agent): Found => ({
  ...{ agent, state: "unreachable", at: stamp(session), proofs: [] },
});

async function lookedFor(session: Session, agent: Agent): Promise<Looked> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const provider = session.providers.read().providers[agent.record.provider ?? ""];
  const reach = provider && addressOf(manifest, provider.type, provider.fields);
  return { subject: subjectOf(manifest, agent), reach };
}

/** An agent without a key is looked at all the same, and not asked anything. */
function keyOf(session: Session, agent: Agent, looked: Looked | undefined): string {
  try {
    const name = looked?.subject.manifest.api.secret ?? "";
    return apiKeyOf(session, { instance: instanceOf(agent), name }).key.reveal();
  } catch {
    return "";
  }
}

const brokeOff = (host: Host, stderr: string, code: number | null): Fault =>
  new Fault("remote-failed", `${host.name} could not tell how its agents are`, {
    why: stderr.trim().split("\n").slice(-3).join(" ") || `its script ended with ${code}`,
    next: `clm host check ${host.name}`,
  });
