import { parseStatusObservations } from "../../agents/probe/status/observation.js";
import { driftScript } from "../../agents/probe/status/script.js";
import { atMost } from "../../async/limit.js";
import { askHostPartially } from "../../remote/ask-host.js";
import type { Agent } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import { newSalt } from "../agent/salt.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { type Drift, driftOnHost, unknownBy } from "./drift.js";
import { byHost, rootOn } from "./host.js";
import { targetFor } from "./probe-agents.js";

export interface AgentDrift {
  agent: Agent;
  drift: Drift;
}

// Milliseconds; the slowest part is a program that prints its version.
const probeTimeout = 90_000;

/** One connection and one exec per host. Changes nothing. */
export async function compareAgents(
  session: Session,
  agents: readonly Agent[],
  { parallel }: { parallel: number },
): Promise<AgentDrift[]> {
  hideSecrets(session);
  const salt = newSalt();
  const perHost = await Promise.all(
    atMost(parallel, byHost(agents), ({ host, agents: those }) => compareOn(session, host, those, salt)),
  );
  const compared = new Map(perHost.flat().map((each) => [each.agent, each]));
  return agents.flatMap((agent) => compared.get(agent) ?? []);
}

async function compareOn(session: Session, host: Host, agents: Agent[], salt: string): Promise<AgentDrift[]> {
  try {
    const [root, targets] = await Promise.all([
      rootOn(session, host),
      Promise.all(agents.map((agent) => targetFor(session, agent, salt))),
    ]);
    const { text, fault } = await askHostPartially(root, driftScript(targets), {
      host: host.name,
      what: "the status of its agents",
      timeout: probeTimeout,
      signal: session.signal,
    });
    const observations = parseStatusObservations(text, agents.length);
    const observed = agents.flatMap((agent, at) => {
      const [target, observation] = [targets[at], observations[at]];
      return target && observation ? [{ agent, target, observation }] : [];
    });
    const drifts = await driftOnHost(session, root, observed, { salt });
    const driftOf = new Map(observed.map(({ agent }, at) => [agent, drifts[at]]));
    return agents.map((agent) => ({ agent, drift: driftOf.get(agent) ?? unknownBy(fault) }));
  } catch (error) {
    session.signal.throwIfAborted();
    return agents.map((agent) => ({ agent, drift: unknownBy(error) }));
  }
}
