import { summarised } from "../../agents/handoff/fit.js";
import { isProof, newCode, noteOf, planted, question } from "../../agents/handoff/proof.js";
import { countsOf, digestOf, type TranscriptMessage } from "../../agents/handoff/transcript.js";
import { brief } from "../../agents/probe/proof/judge.js";
import { asFault, Fault, isFault } from "../../errors.js";
import type { Handoff } from "../../state/handoffs.js";
import type { Session } from "../session.js";
import { withProgress } from "../with-progress.js";
import { changeSessions } from "./change-sessions.js";
import { type CompletedHandoff, finish, forget, handoffsOf } from "./open.js";
import { again, type PreparedHandoff } from "./prepare.js";
import { summaryOf } from "./summary.js";
import type { HandoffTarget } from "./target.js";
import { turnIn } from "./turn.js";

/** Writes a conversation to the target, has that prove it and finishes; until it is proven, whatever goes wrong takes all of it away again. */
export async function move(
  session: Session,
  first: Handoff,
  what: PreparedHandoff,
  target: HandoffTarget,
): Promise<CompletedHandoff> {
  const { ui, now } = session;
  const { agent } = target;
  const handoffs = handoffsOf(session);
  const code = newCode();
  let handoff = first;
  const note = async (change: Partial<Handoff>) => {
    handoff = { ...handoff, ...change };
    await handoffs.put(handoff);
  };
  await note({});
  try {
    const said = await whatMoves(session, handoff.id, what, target);
    // Behind everything that was said, whatever the clocks of both say.
    const at = said.reduce((latest, each) => Math.max(latest, each.at), now().getTime() / 1000);
    const text = noteOf(what.plan.from.agent, code);
    const counts = countsOf(said);
    await note({
      planted: text,
      moved: { hash: digestOf(said), messages: said.length, calls: counts.tool_call_count },
    });
    const removed = handoffs.removed(handoff.to);
    await withProgress(ui, `write ${said.length} messages to ${agent.name}`, () =>
      changeSessions(
        session,
        agent,
        {
          verb: "seed",
          id: handoff.id,
          session: target.store.sessionRow(said, what.title, target.model),
          messages: [...said, ...planted(text, said, at)].map(target.store.rowOf),
          gone: removed,
        },
        session.signal,
      ),
    );
    await note({ stage: "seeded" });
    await handoffs.swept(removed, now());
    await withProgress(ui, `have ${agent.name} prove that it read them`, () =>
      prove(session, handoff.id, target, code),
    );
    await note({ stage: "proven" });
  } catch (error) {
    throw await undone(session, handoff, error);
  }
  return withProgress(ui, "take the proof out again and compare", () => finish(session, handoff)).catch((error) => {
    if (isFault(error, "connection-lost", "unreachable")) error.next.push("the same command again, which finishes it");
    throw error;
  });
}

async function whatMoves(
  session: Session,
  id: string,
  { said, summarise, fit }: PreparedHandoff,
  target: HandoffTarget,
): Promise<TranscriptMessage[]> {
  if (!summarise) return said ?? [];
  const title = `have ${target.agent.name} summarise ${summarise.older.length} messages`;
  const summary = await withProgress(session.ui, title, () => summaryOf(session, target, id, summarise));
  return summarised(summarise, summary, fit.room ?? 0);
}

async function prove(session: Session, id: string, { agent }: HandoffTarget, code: string): Promise<void> {
  const { text, session: went } = await turnIn(session, agent, id, question);
  if (went !== id) {
    throw new Fault("check-failed", `${agent.name} folded the conversation when it was asked about it`, {
      why: "it went on in another session, so its window is smaller than clm was told",
      next: again(session, "--context TOKENS --fit trim"),
    });
  }
  if (isProof(text, code)) return;
  throw new Fault("check-failed", `${agent.name} did not prove that it read the conversation`, {
    why: [`asked for the code in it, it answered: ${brief(session.ui.redact(text), 200)}`],
    next: `clm agent doctor ${agent.ref}`,
  });
}

// Also who stops clm does not want half a session there.
const timeout = 30_000;

/** Takes everything away from the target again, and gives back why. */
async function undone(session: Session, handoff: Handoff, error: unknown): Promise<unknown> {
  try {
    await forget(session, handoff, AbortSignal.timeout(timeout));
    if (error instanceof Fault && error.fault !== "interrupted") error.why.push("nothing of it is left on the target");
  } catch (trouble) {
    session.ui.warn(`what was begun on ${handoff.to.agent} could not be taken away: ${asFault(trouble).message}`);
    if (error instanceof Fault) error.next.push(`clm handoff --abandon ${handoff.id}`);
  }
  return error;
}
