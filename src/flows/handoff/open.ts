import { question } from "../../agents/handoff/proof.js";
import { hasArrived } from "../../agents/handoff/transcript.js";
import { capability } from "../../agents/type.js";
import { Fault, isFault } from "../../errors.js";
import { type Agent, agentsOf } from "../../state/agents.js";
import { type Handoff, openHandoffs } from "../../state/handoffs.js";
import { withAgentLock } from "../agent/agent-lock.js";
import { type AgentTarget, targetOf } from "../agent/target.js";
import type { Session } from "../session.js";
import { changeSessions } from "./change-sessions.js";

export interface CompletedHandoff {
  id: string;
  from: { agent: string; session: string };
  to: { agent: string; session: string };
  messages: number;
  hash: string;
  /** False when the source continued meanwhile and was left open. */
  closed?: boolean;
  as?: string;
}

// An agent stores its answer before the answer ends, or very soon after.
const tries = 25;
const pause = 200;

/** Removes the note and the proof of a proven handoff, and compares the rest with the messages that moved. */
export async function finish(session: Session, handoff: Handoff): Promise<CompletedHandoff> {
  const { id, moved, from, to, close } = handoff;
  if (!moved) throw new Error("a proven handoff was written");
  const target = await targetAt(session, to);
  const { transcriptFrom } = await capability(target.resolved.manifest, "handoff");
  const { messages: rows = [], note_found: noteFound, later = 0 } = await removeProof(session, target, handoff, moved);
  if (!hasArrived(transcriptFrom(rows), moved)) {
    // The conversation continued, or an earlier run removed the note: clm must not remove the session's later content.
    if (!noteFound || later > 0) {
      const what = `${id} of ${target.agent.name} has changed since it was handed over`;
      throw new Fault("conflict", what, { data: { reason: "changed" } });
    }
    await forget(session, handoff);
    throw new Fault("integrity", `the session of ${to.agent} differs from what was handed over`, {
      why: [`${rows.length} messages are there, and ${moved.messages} should be`, "the session was removed again"],
      data: { id },
    });
  }
  const done: CompletedHandoff = {
    id,
    from: { agent: `${from.host}/${from.agent}`, session: from.session },
    to: { agent: `${to.host}/${to.agent}`, session: id },
    messages: moved.messages,
    hash: moved.hash,
    ...(handoff.as !== undefined && { as: handoff.as }),
  };
  return close ? { ...done, closed: await closeSource(session, from, close.last) } : done;
}

async function removeProof(
  session: Session,
  target: AgentTarget,
  { id, planted: note, to }: Handoff,
  moved: NonNullable<Handoff["moved"]>,
) {
  const counts = { message_count: moved.messages, tool_call_count: moved.calls };
  const removed = handoffsOf(session).removed(to);
  for (let left = tries; ; left--) {
    const wait = left > 0;
    const request = { verb: "remove-proof" as const, id, note, question, counts, wait, removed };
    const reply = await changeSessions(session, target, request);
    if (!reply.unanswered) return reply;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** A source that was removed meanwhile has nothing to close. */
export async function closeSource(session: Session, from: Handoff["from"], last: number | null): Promise<boolean> {
  if (!isRecorded(session, from)) {
    session.ui.warn(`${from.host}/${from.agent} no longer exists, and ${from.session} was not closed`);
    return false;
  }
  const request = { verb: "close-session" as const, id: from.session, last, at: session.now().getTime() / 1000 };
  const { closed = false, ended_before: endedBefore } = await changeSessions(
    session,
    await targetAt(session, from),
    request,
  );
  if (endedBefore) session.ui.note(`${from.session} of ${from.agent} had already ended and was not changed`);
  if (!closed) session.ui.warn(`${from.session} of ${from.agent} went on since it was read, and was not closed`);
  return closed;
}

// A turn or a program that was running when clm ended may still write after the removal, if it does at once.
const comesLate = 2000;
const rounds = 5;

/** Removes a handoff until nothing comes back, then its record. The next handoff removes anything later. */
export async function forget(session: Session, { id, to }: Handoff, signal = session.signal): Promise<void> {
  const target = await targetAt(session, to);
  for (let round = 0; round < rounds; round++) {
    const { deleted = 0 } = await changeSessions(session, target, { verb: "delete-session", id }, signal);
    if (round > 0 && deleted === 0) break;
    await new Promise((resolve) => setTimeout(resolve, comesLate));
  }
  await handoffsOf(session).remove(id, to, session.now());
}

/** Finishes earlier handoffs to this agent if proven, else removes them. The agent is locked, so none is under way. */
export async function clearUp(session: Session, { host, name }: Agent): Promise<Map<string, CompletedHandoff>> {
  const finished = new Map<string, CompletedHandoff>();
  const open = handoffsOf(session).all();
  for (const handoff of open.filter(({ to }) => to.host === host.name && to.agent === name)) {
    const { id, stage, asked } = handoff;
    if (stage !== "proven") {
      session.ui.note(`a handoff to ${name} was interrupted before it was proven: ${id}`);
      await abandonAlone(session, handoff);
      continue;
    }
    const action = { verb: "handoff", target: `${host.name}/${name}`, summary: `finish the handoff ${id}` };
    session.ui.note(`a handoff to ${name} was interrupted after it was proven: ${id}`);
    const done = await session.gate.pass(action, () => finish(session, handoff), outcomeOf).catch(goneIs(session, id));
    if (!done) continue;
    await handoffsOf(session).drop(id);
    finished.set(asked, done);
  }
  return finished;
}

const outcomeOf = (done: CompletedHandoff) => ({ result: "ok" as const, detail: { handoff: { ...done } } });

/** A session that was removed or changed on the target meanwhile cannot be finished. */
const goneIs =
  (session: Session, id: string) =>
  async (error: unknown): Promise<undefined> => {
    if (!isFault(error, "conflict")) throw error;
    const { reason } = error.data;
    if (reason !== "gone" && reason !== "changed") throw error;
    session.ui.warn(`${id} was ${reason === "gone" ? "removed" : "changed"} meanwhile; it is not finished`);
    await handoffsOf(session).drop(id);
    return undefined;
  };

export async function abandon(session: Session, id: string): Promise<Handoff> {
  const open = handoffsOf(session).all();
  const handoff = open.find((each) => each.id === id);
  if (!handoff) {
    throw new Fault("not-found", `there is no open handoff '${id}'`, {
      why: open.length === 0 ? "none is open" : `open: ${open.map((each) => each.id).join(", ")}`,
      next: "clm handoff --list",
    });
  }
  const { host, agent: name } = handoff.to;
  await withAgentLock(session, { host, name }, () => abandonAlone(session, handoff));
  return handoff;
}

async function abandonAlone(session: Session, handoff: Handoff): Promise<void> {
  const { id, to } = handoff;
  const action = {
    verb: "handoff",
    target: `${to.host}/${to.agent}`,
    summary: `remove what is left of the handoff ${id}`,
  };
  // A removed agent has no sessions left.
  await session.gate.pass(action, () =>
    isRecorded(session, to) ? forget(session, handoff) : handoffsOf(session).drop(id),
  );
}

const isRecorded = ({ hosts }: Session, end: Handoff["to"]): boolean =>
  agentsOf(hosts.read()).some(({ host, name }) => host.name === end.host && name === end.agent);

const targetAt = (session: Session, { host, agent }: Handoff["to"]): Promise<AgentTarget> =>
  targetOf(session, `${host}/${agent}`);

export const handoffsOf = ({ configDir }: Pick<Session, "configDir">) =>
  openHandoffs(configDir, { what: "clm handoff" });
