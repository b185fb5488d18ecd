import { isOutside, isProven, type Proof } from "../../agents/probe/proof/proof.js";
import { Fault } from "../../errors.js";
import { type AgentRecord, type OnboardingState, providersOf } from "../../state/agent.js";
import { type Agent, recordAgent } from "../../state/agents.js";
import type { Session } from "../session.js";

/** Writes the record only when it becomes another. */
export async function changeRecord(
  session: Session,
  { host, name, record: known }: Agent,
  change: (now: AgentRecord) => AgentRecord,
): Promise<AgentRecord> {
  if (JSON.stringify(change(known)) === JSON.stringify(known)) return known;
  const now = await recordAgent(session.hosts, { host: host.name, name }, (record) => record && change(record));
  if (!now)
    throw new Fault("not-found", `${name} on ${host.name} is not recorded any more`, { next: "clm agent list" });
  return now;
}

/** What was answered, laid over what else became of the record meanwhile. */
export function withAnswers(now: AgentRecord, draft: AgentRecord): AgentRecord {
  const { rendered, proven, failed, status, ...answers } = draft;
  const both = {
    ...answers,
    status: now.status,
    ...(now.rendered && { rendered: now.rendered }),
    ...(now.proven && { proven: now.proven }),
    ...(now.failed && { failed: now.failed }),
  };
  // Nobody answers that an agent is ready: another clm may have set it back.
  return now.onboarding.state === "ready" || draft.onboarding.state !== "ready" ? both : withState(both, "validate");
}

/** Whether somebody wants it to be down. */
export function withDown({ down: _, ...record }: AgentRecord, down: boolean): AgentRecord {
  return down ? { ...record, down } : record;
}

/** What a proof is about: a rendering, and the providers it was made of. */
export interface Basis {
  digest: string;
  providers: string;
}

/** The providers an agent's record names, as they are now. Taken before they are rendered, it tells whether one changed since. */
export function providersBehind({ providers }: Pick<Session, "providers">, record: AgentRecord): string {
  const known = providers.read().providers;
  return JSON.stringify(providersOf(record).map((name) => [name, known[name]]));
}

/**
 * Ready when all of it was proven and no stage is open; what failed leaves the agent at validate, and so does a provider
 * that another clm changed since: what was proven is not what it has now. An agent that was proven as it is stays ready when
 * only services outside of it fail: it may be started while its provider is down.
 */
export async function recordProofs(
  session: Session,
  agent: Agent,
  { digest, providers }: Basis,
  proofs: Proof[],
): Promise<AgentRecord> {
  const at = session.now().toISOString();
  if (!isProven(proofs)) return changeRecord(session, agent, (now) => withFailure(now, { digest, at, proofs }));
  const asked = proofs.some(({ id, result }) => id === "chat" && result === "ok");
  const record = () => {
    const outdated = providersBehind(session, agent.record) !== providers;
    return (now: AgentRecord) => withProof(now, { digest, at, asked, outdated });
  };
  if (JSON.stringify(record()(agent.record)) === JSON.stringify(agent.record)) return agent.record;
  // A provider is changed under the same lock: it is another one by now, or it sets back what is recorded here.
  return session.withFleetLock(() => changeRecord(session, agent, record()));
}

function withFailure(
  now: AgentRecord,
  { digest, at, proofs }: { digest: string; at: string; proofs: Proof[] },
): AgentRecord {
  const failures = proofs.filter(({ result }) => result === "fail");
  const ids = failures.map(({ id }) => id);
  const failed = { digest, at, proofs: ids, reason: failures[0]?.reason ?? "" };
  const stays = now.onboarding.state === "ready" && now.proven?.digest === digest && ids.every(isOutside);
  return stays ? { ...now, failed } : withState({ ...now, failed }, "validate");
}

interface Proven {
  digest: string;
  at: string;
  /** The model was asked, and answered. */
  asked: boolean;
  /** A provider is not what was rendered any more. */
  outdated: boolean;
}

function withProof({ failed, ...before }: AgentRecord, { digest, at, asked, outdated }: Proven): AgentRecord {
  // That the model did not answer is disproven by its answer alone.
  const still = failed?.proofs.includes("chat") && !asked;
  const now: AgentRecord = still ? { ...before, failed } : before;
  if (outdated) return withState(now, "validate");
  const open = isBefore(now.onboarding.state, "validate");
  const known = now.proven?.digest === digest && (open || now.onboarding.state === "ready");
  if (known && (now.proven?.chat || !asked) && !failed) return now;
  const chat = asked || (now.proven?.digest === digest && now.proven.chat);
  const proven = { ...now, proven: { digest, at, chat } };
  if (open) return proven;
  const stages = { ...now.onboarding.stages, validate: { result: "complete" as const, at } };
  return { ...proven, onboarding: { state: "ready", stages } };
}

const order: OnboardingState[] = ["providers", "identity", "channels", "validate", "ready"];

export const isBefore = (state: OnboardingState, other: OnboardingState): boolean =>
  order.indexOf(state) < order.indexOf(other);

/** What was proven holds no more: an agent that came as far as `state` is there again. One that did not stays where it is. */
export function withState(record: AgentRecord, state: "providers" | "validate"): AgentRecord {
  if (isBefore(record.onboarding.state, state)) return record;
  const { [state]: _, validate: __, ...stages } = record.onboarding.stages;
  return { ...record, onboarding: { state, stages } };
}
