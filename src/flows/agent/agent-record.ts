import { isOutside, isProven, type Proof } from "../../agents/probe/proof/proof.js";
import { Fault } from "../../errors.js";
import { type AgentRecord, type OnboardingState, providersOf } from "../../state/agent.js";
import { type Agent, recordAgent } from "../../state/agents.js";
import { defined } from "../../text/defined.js";
import type { Session } from "../session.js";

/** Writes the record only when it changes. */
export async function changeRecord(
  session: Session,
  { host, name, record: known }: Agent,
  change: (now: AgentRecord) => AgentRecord,
): Promise<AgentRecord> {
  if (isSame(change(known), known)) return known;
  const now = await recordAgent(session.hosts, { host: host.name, name }, (record) => record && change(record));
  if (!now) throw new Fault("not-found", `${name} on ${host.name} is no longer recorded`, { next: "clm agent list" });
  return now;
}

export const isSame = (a: AgentRecord, b: AgentRecord): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Merges new answers over a record that another command may have changed. */
export function withAnswers(now: AgentRecord, draft: AgentRecord): AgentRecord {
  const { status, rendered, proven, failed } = now;
  const both = defined({ ...draft, status, rendered, proven, failed });
  // Answers do not make an agent ready: another clm may have reset its state.
  return now.onboarding.state === "ready" || draft.onboarding.state !== "ready" ? both : withState(both, "validate");
}

export function withDown({ down: _, ...record }: AgentRecord, down: boolean): AgentRecord {
  return down ? { ...record, down } : record;
}

/** Whether the agent should be stopped. Recorded before the host changes, so that a killed run leaves the intention. */
export const setDown = (session: Session, agent: Agent, down: boolean): Promise<AgentRecord> =>
  changeRecord(session, agent, (now) => withDown(now, down));

/** What proofs are valid for: a rendering, and its providers. */
export interface Basis {
  digest: string;
  providers: string;
}

/** A snapshot of an agent's providers. Taken before rendering, it shows later whether one changed. */
export function providersBehind({ providers }: Pick<Session, "providers">, record: AgentRecord): string {
  const known = providers.read().providers;
  return JSON.stringify(providersOf(record).map((name) => [name, known[name]]));
}

/**
 * Ready when every proof passed and no stage is open; validate after a failure or a provider change by another clm. An
 * unchanged agent stays ready when only external services fail: it may be started while its provider is down.
 */
export async function recordProofs(
  session: Session,
  agent: Agent,
  { digest, providers }: Basis,
  proofs: Proof[],
): Promise<AgentRecord> {
  const at = session.now().toISOString();
  if (!isProven(proofs)) return changeRecord(session, agent, (now) => withFailure(now, { digest, at, proofs }));
  const isOutdated = () => providersBehind(session, agent.record) !== providers;
  const proven = (now: AgentRecord) => withProof(now, { digest, at, proofs }, isOutdated());
  if (isSame(proven(agent.record), agent.record)) return agent.record;
  // Providers are changed under the same lock: a change is visible here, or it resets this record afterwards.
  return session.withFleetLock(() => changeRecord(session, agent, proven));
}

interface Judgement {
  digest: string;
  at: string;
  proofs: Proof[];
}

function withFailure(now: AgentRecord, { digest, at, proofs }: Judgement): AgentRecord {
  const failures = proofs.filter(({ result }) => result === "fail");
  const ids = failures.map(({ id }) => id);
  const failed = { digest, at, proofs: ids, reason: failures[0]?.reason ?? "" };
  const stays = now.onboarding.state === "ready" && now.proven?.digest === digest && ids.every(isOutside);
  return stays ? { ...now, failed } : withState({ ...now, failed }, "validate");
}

function withProof(
  { failed, ...before }: AgentRecord,
  { digest, at, proofs }: Judgement,
  outdated: boolean,
): AgentRecord {
  const chatPassed = proofs.some(({ id, result }) => id === "chat" && result === "ok");
  // Only an answer of the model clears a failed chat proof.
  const still = failed?.proofs.includes("chat") && !chatPassed;
  const now: AgentRecord = still ? { ...before, failed } : before;
  if (outdated) return withState(now, "validate");
  const open = isBefore(now.onboarding.state, "validate");
  const known = now.proven?.digest === digest && (open || now.onboarding.state === "ready");
  if (known && (now.proven?.chat || !chatPassed) && !failed) return now;
  const chat = chatPassed || (now.proven?.digest === digest && now.proven.chat);
  const proven = { ...now, proven: { digest, at, chat } };
  if (open) return proven;
  const stages = { ...now.onboarding.stages, validate: { result: "complete" as const, at } };
  return { ...proven, onboarding: { state: "ready", stages } };
}

const order: OnboardingState[] = ["providers", "identity", "channels", "validate", "ready"];

export const isBefore = (state: OnboardingState, other: OnboardingState): boolean =>
  order.indexOf(state) < order.indexOf(other);

/** Resets onboarding to `state`: the proofs are no longer valid. An agent that is not that far yet keeps its state. */
export function withState(record: AgentRecord, state: "providers" | "validate"): AgentRecord {
  if (isBefore(record.onboarding.state, state)) return record;
  const { [state]: _, validate: __, ...stages } = record.onboarding.stages;
  return { ...record, onboarding: { state, stages } };
}
