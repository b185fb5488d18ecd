import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { HostName } from "../../names.js";
import { type Agent, agentId } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { type AgentStatus, saveStatuses, withLastStatus } from "./agent-status.js";
import { byHost } from "./host.js";
import { type HostProbeOptions, probeAgentsOn, quickProbeOn } from "./probe-agents.js";

export interface WatchOptions extends HostProbeOptions {
  /** Called before every round, as agents come and go. */
  choose: () => Agent[];
  /** Milliseconds between rounds. */
  every: number;
  /** Called for each host after a probe. */
  tell: (found: AgentStatus[]) => void;
  /** Called before every round. */
  round: (agents: Agent[]) => void;
}

/** Milliseconds between full probes. Each leaves a refused key or two in the agent's log. */
const fullProbeInterval = 60_000;

interface Watched {
  found: AgentStatus[];
  /** When its agents were last fully probed. */
  whole: number;
}

/** Hosts are independent: a slow one delays no other. A full probe follows every change, and runs once a minute. */
export async function watchAgents(session: Session, watching: WatchOptions): Promise<void> {
  const { choose, every, tell, round } = watching;
  const { signal, now } = session;
  const hosts = new Map<HostName, Watched>();
  const busy = new Set<string>();
  const failure = new AbortController();
  const ended = AbortSignal.any([signal, failure.signal]);

  async function probeHost(host: Host, agents: Agent[]): Promise<void> {
    const before = hosts.get(host.name);
    const began = now().getTime();
    const whole = !before || began - before.whole >= fullProbeInterval || !sameAgents(before.found, agents);
    const probed = whole
      ? await probeAgentsOn(session, agents, watching)
      : await probeAgain(session, before.found, agents, watching);
    const known = new Map(before?.found.map((each) => [agentId(each.agent), each]));
    const found = probed.map((each) => withLastStatus(each, known.get(agentId(each.agent))));
    hosts.set(host.name, { found, whole: whole ? began : before.whole });
    if (whole) saveStatuses(session, found);
    tell(found);
  }

  function start(): void {
    hideSecrets(session);
    const agents = choose();
    round(agents);
    const names = new Set(agents.map(({ host }) => host.name));
    for (const name of hosts.keys()) if (!names.has(name)) hosts.delete(name);
    for (const { host, agents: those } of byHost(agents)) {
      if (busy.has(host.name)) continue;
      busy.add(host.name);
      void probeHost(host, those)
        .catch((error) => failure.abort(error))
        .finally(() => busy.delete(host.name));
    }
  }

  try {
    for (;;) {
      start();
      await sleep(every, undefined, { signal: ended });
    }
  } catch (error) {
    if (!signal.aborted) throw failure.signal.aborted ? failure.signal.reason : error;
  } finally {
    const found = [...hosts.values()].flatMap((host) => host.found);
    saveStatuses(session, found);
  }
}

/** Whether the records are unchanged: another command may have stopped an agent, or given it another port. */
const sameAgents = (found: AgentStatus[], agents: Agent[]): boolean =>
  isDeepStrictEqual(
    found.map(({ agent: { name, record } }) => [name, record]),
    agents.map(({ name, record }) => [name, record]),
  );

async function probeAgain(
  session: Session,
  before: AgentStatus[],
  agents: Agent[],
  { tell, ...looking }: WatchOptions,
): Promise<AgentStatus[]> {
  const known = before.map((found, at) => ({ ...found, agent: agents[at] ?? found.agent }));
  const quick = await quickProbeOn(session, known);
  // A starting agent changes by itself.
  const settled = quick.map((found) => (found?.state === "starting" ? undefined : found));
  const due = agents.filter((_, at) => !settled[at]);
  // An agent that does not answer must not hold up those that do.
  if (due.length > 0) tell(settled.filter((found) => found !== undefined));
  const probed = due.length > 0 ? await probeAgentsOn(session, due, looking) : [];
  return agents.flatMap((agent, at) => settled[at] ?? probed.find((found) => found.agent === agent) ?? []);
}
