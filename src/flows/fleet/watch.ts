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
  onStatuses: (statuses: AgentStatus[]) => void;
  /** Called before every round. */
  onRound: (agents: Agent[]) => void;
}

/** Milliseconds between full probes. Each leaves a refused key or two in the agent's log. */
const fullProbeInterval = 60_000;

interface WatchedHost {
  statuses: AgentStatus[];
  /** When its agents were last fully probed. */
  fullyProbedAt: number;
}

/** Hosts are independent: a slow one delays no other. A full probe follows every change, and runs once a minute. */
export async function watchAgents(session: Session, watching: WatchOptions): Promise<void> {
  const { choose, every, onStatuses, onRound } = watching;
  const { signal, now } = session;
  const hosts = new Map<HostName, WatchedHost>();
  const busy = new Set<string>();
  const failure = new AbortController();
  const ended = AbortSignal.any([signal, failure.signal]);

  async function probeHost(host: Host, agents: Agent[]): Promise<void> {
    const before = hosts.get(host.name);
    const began = now().getTime();
    const full = !before || began - before.fullyProbedAt >= fullProbeInterval || !sameAgents(before.statuses, agents);
    const probed = full
      ? await probeAgentsOn(session, agents, watching)
      : await probeAgain(session, before.statuses, agents, watching);
    const last = new Map(before?.statuses.map((each) => [agentId(each.agent), each]));
    const statuses = probed.map((each) => withLastStatus(each, last.get(agentId(each.agent))));
    hosts.set(host.name, { statuses, fullyProbedAt: full ? began : before.fullyProbedAt });
    if (full) saveStatuses(session, statuses);
    onStatuses(statuses);
  }

  function start(): void {
    hideSecrets(session);
    const agents = choose();
    onRound(agents);
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
    saveStatuses(
      session,
      [...hosts.values()].flatMap(({ statuses }) => statuses),
    );
  }
}

/** Whether the records are unchanged: another command may have stopped an agent, or given it another port. */
const sameAgents = (statuses: AgentStatus[], agents: Agent[]): boolean =>
  isDeepStrictEqual(
    statuses.map(({ agent: { name, record } }) => [name, record]),
    agents.map(({ name, record }) => [name, record]),
  );

async function probeAgain(
  session: Session,
  before: AgentStatus[],
  agents: Agent[],
  { onStatuses, ...options }: WatchOptions,
): Promise<AgentStatus[]> {
  const last = before.map((status, at) => ({ ...status, agent: agents[at] ?? status.agent }));
  const quick = await quickProbeOn(session, last);
  // A starting agent changes by itself.
  const settled = quick.map((status) => (status?.state === "starting" ? undefined : status));
  const due = agents.filter((_, at) => !settled[at]);
  // An agent that does not answer must not hold up those that do.
  if (due.length > 0) onStatuses(settled.filter((status) => status !== undefined));
  const probed = due.length > 0 ? await probeAgentsOn(session, due, options) : [];
  return agents.flatMap((agent, at) => settled[at] ?? probed.find((status) => status.agent === agent) ?? []);
}
