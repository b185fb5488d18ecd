import { summarised } from "../../agents/handoff/fit.js";
import { isProof, newCode, noteOf, planted, question } from "../../agents/handoff/proof.js";
import type { ChangeRequest } from "../../agents/handoff/store.js";
import { countsOf, digestOf, type TranscriptMessage } from "../../agents/handoff/transcript.js";
import { brief } from "../../agents/probe/proof/judge.js";
import { asFault, Fault } from "../../errors.js";
import type { Handoff } from "../../state/handoffs.js";
import { askOnce } from "../chat/exchange.js";
import type { Phases } from "../flow.js";
import type { Session } from "../session.js";
import { changeSessions } from "./change-sessions.js";
import { type CompletedHandoff, finish, forget, handoffsOf } from "./open.js";
import { again, type PreparedHandoff } from "./prepare.js";
import { summaryOf } from "./summary.js";
import type { HandoffTarget } from "./target.js";

/** Until the target has proven that it read the conversation, any failure, also Ctrl-C, removes everything again. */
export async function move(
  { change, prove, record }: Phases,
  session: Session,
  first: Handoff,
  what: PreparedHandoff,
  target: HandoffTarget,
): Promise<CompletedHandoff | undefined> {
  const { agent, store } = target;
  const handoffs = handoffsOf(session);
  const code = newCode();
  let handoff = first;
  const note = (changes: Partial<Handoff>) =>
    record(`handoff ${changes.stage ?? "planned"}`, async () => {
      handoff = { ...handoff, ...changes };
      await handoffs.put(handoff);
    });
  await note({});
  if (session.gate.dryRun) return undefined;
  try {
    const messages = await messagesToMove(change, session, handoff.id, what, target);
    // After every message, whatever the clocks of both hosts say.
    const at = messages.reduce((latest, each) => Math.max(latest, each.at), session.now().getTime() / 1000);
    const text = noteOf(what.plan.from.agent, code);
    const moved = { hash: digestOf(messages), messages: messages.length, calls: countsOf(messages).tool_call_count };
    await note({ planted: text, moved });
    const removed = handoffs.removed(handoff.to);
    const insert: ChangeRequest = {
      verb: "insert-session",
      id: handoff.id,
      session: store.sessionRow(messages, what.title, target.model),
      messages: [...messages, ...planted(text, messages, at)].map(store.rowOf),
      removed,
    };
    await change(`write ${messages.length} messages to ${agent.name}`, () => changeSessions(session, target, insert));
    await note({ stage: "seeded" });
    await handoffs.swept(removed, session.now());
    await prove(`have ${agent.name} prove that it read them`, () => mustKnowCode(session, handoff.id, target, code));
    await note({ stage: "proven" });
  } catch (error) {
    throw await undone(session, handoff, error);
  }
  return change("take the proof out again and compare", () => finish(session, handoff));
}

async function messagesToMove(
  change: Phases["change"],
  session: Session,
  id: string,
  { messages, summarise, fit }: PreparedHandoff,
  target: HandoffTarget,
): Promise<TranscriptMessage[]> {
  if (!summarise) return messages ?? [];
  const title = `have ${target.agent.name} summarise ${summarise.older.length} messages`;
  const summary = await change(title, () => summaryOf(session, target, id, summarise));
  return summarised(summarise, summary ?? "", fit.room ?? 0);
}

async function mustKnowCode(session: Session, id: string, { agent }: HandoffTarget, code: string): Promise<void> {
  const { text, session: went } = await askOnce(session, agent, id, question);
  if (went !== id) {
    throw new Fault("check-failed", `${agent.name} compacted the conversation when it was asked about it`, {
      why: "it continued in another session, so its context window is smaller than clm assumed",
      next: again(session, "--context TOKENS --fit trim"),
    });
  }
  if (isProof(text, code)) return;
  throw new Fault("check-failed", `${agent.name} did not prove that it read the conversation`, {
    why: [`asked for the code in it, it answered: ${brief(session.ui.redact(text), 200)}`],
    next: `clm agent doctor ${agent.ref}`,
  });
}

// Also after Ctrl-C.
const timeout = 30_000;

async function undone(session: Session, handoff: Handoff, error: unknown): Promise<unknown> {
  try {
    await forget(session, handoff, AbortSignal.timeout(timeout));
    if (error instanceof Fault && error.fault !== "interrupted")
      error.why.push("nothing of the conversation is left on the target");
  } catch (trouble) {
    session.ui.warn(`the unfinished session on ${handoff.to.agent} could not be removed: ${asFault(trouble).message}`);
    if (error instanceof Fault) error.next.push(`clm handoff --abandon ${handoff.id}`);
  }
  return error;
}
