import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { brief, span } from "../../agents/probe/proof/judge.js";
import { type ExpectedStatus, type Judgement, judgeStatus, type State } from "../../agents/probe/status/judge.js";
import type { StatusObservation } from "../../agents/probe/status/observation.js";
import type { ProbeTarget } from "../../agents/probe/status/script.js";
import type { Intent, KeyTrouble } from "../../agents/probe/status/troubles.js";
import type { Fault } from "../../errors.js";
import { type Agent, agentId, agentsOf } from "../../state/agents.js";
import { type LastStatus, readLastStatuses, saveLastStatuses } from "../../state/last-status.js";
import { modelOf } from "../../state/providers.js";
import type { Session } from "../session.js";
import type { Drift } from "./drift.js";

export interface ProbeResult {
  /** For the next probe. */
  target: ProbeTarget;
  observation: StatusObservation;
  /** Why its API may not accept the key. */
  key: KeyTrouble | undefined;
  /** When drift was checked. */
  drift: Drift | undefined;
  /** When it was last fully probed: with its key, and for drift. By default now. */
  provenAt?: string | undefined;
}

/** Without the result of a probe when its host is unreachable. */
export interface AgentStatus extends Partial<ProbeResult> {
  agent: Agent;
  state: State;
  reason?: string | undefined;
  /** It is stopped, and processes of its user still run outside its unit. */
  strays?: boolean;
  at: string;
  wanted: Intent;
  resolved?: ResolvedAgent;
  proofs: Judgement["proofs"];
  /** Its own model, or its provider's. */
  model?: string | undefined;
  /** The last recorded status, when its host is unreachable. */
  last?: LastStatus | undefined;
  fault?: Fault;
}

export function statusFrom(session: Session, agent: Agent, result: ProbeResult): AgentStatus {
  const { observation, key, drift } = result;
  const { resolved } = result.target;
  const { record } = agent;
  const [wanted, at] = [wantedOf(agent), stamp(session)];
  const judgement = judgeStatus(resolved, observation, {
    wanted,
    key,
    unfinished: unfinished[record.status],
    unanswered: unanswered(session, agent),
    ...(drift && record.status === "installed" && { drift: driftSummary(drift) }),
  });
  return {
    ...result,
    ...judgement,
    agent,
    resolved,
    wanted,
    at,
    provenAt: result.provenAt ?? at,
    model: modelOf(session.providers.read(), record),
    reason: judgement.reason && session.ui.redact(judgement.reason),
  };
}

function driftSummary(drift: Drift): NonNullable<ExpectedStatus["drift"]> {
  if ("unknown" in drift) return drift;
  // A restart alone only follows from another difference.
  const differs = drift.changes.filter(({ differences }) => !differences.every(({ kind }) => kind === "restart"));
  return [...differs.map(({ what }) => ({ what })), ...drift.lost];
}

const unfinished = {
  installing: "its installation was not finished",
  removing: "its removal was not finished",
  installed: undefined,
};

/** The last chat proof failed, and none has passed since. */
export function unanswered({ now }: Pick<Session, "now">, { ref, record: { failed } }: Agent): string | undefined {
  if (!failed?.proofs.includes("chat")) return undefined;
  const ago = span(Math.max(0, now().getTime() - Date.parse(failed.at)) / 1000);
  return `its model did not answer ${ago} ago: ${failed.reason}; clm agent configure ${ref} --stage validate`;
}

function wantedOf({ record: { down, onboarding } }: Agent): Intent {
  if (down) return "rest";
  return onboarding.state === "ready" ? "run" : "nothing";
}

const stamp = ({ now }: Session): string => now().toISOString();

export function unreachable(session: Session, agent: Agent, fault?: Fault): AgentStatus {
  return {
    agent,
    state: "unreachable",
    wanted: wantedOf(agent),
    at: stamp(session),
    proofs: [],
    last: readLastStatuses(session.configDir)[agentId(agent)],
    model: modelOf(session.providers.read(), agent.record),
    ...(fault && { fault, reason: session.ui.redact([fault.message, ...fault.why].join(": ")) }),
  };
}

/** Unreachable agents fall back to the last status, of this process or recorded. */
export function withLastStatus(now: AgentStatus, before: AgentStatus | undefined): AgentStatus {
  const last = before && (before.observation ? lastStatusOf(before) : before.last);
  return now.observation || !last || (now.last && now.last.at > last.at) ? now : { ...now, last };
}

const lastStatusOf = ({ at, state, reason, observation }: AgentStatus): LastStatus => ({
  at,
  state,
  version: brief(observation?.basics.version ?? ""),
  ...(reason && { reason }),
});

/** Records statuses for when a host is unreachable. A directory that cannot be written is no error. */
export function saveStatuses({ configDir, hosts, ui }: Session, found: readonly AgentStatus[]): void {
  const known = readLastStatuses(configDir);
  const newer = found.flatMap((each): [string, LastStatus][] => {
    const [title, status] = [agentId(each.agent), each.observation ? lastStatusOf(each) : each.last];
    return status && status.at > (known[title]?.at ?? "") ? [[title, status]] : [];
  });
  if (newer.length === 0) return;
  const there = new Set(agentsOf(hosts.read()).map(agentId));
  if (!saveLastStatuses(configDir, Object.fromEntries(newer), (key) => there.has(key)))
    ui.debug(`the last status could not be saved in ${configDir}`);
}
