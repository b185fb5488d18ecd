import { createHash } from "node:crypto";
import { type Boundary, within } from "../../agents/handoff/boundary.js";
import { type Fit, summarised } from "../../agents/handoff/fit.js";
import { describe, type Fitted, fitted, type Plan } from "../../agents/handoff/plan.js";
import { isProof, newCode, newHandoffId, planted, question } from "../../agents/handoff/proof.js";
import { redacting } from "../../agents/handoff/redacted.js";
import { countsOf, rowOf, sessionRow } from "../../agents/handoff/request.js";
import { digestOf, type Said } from "../../agents/handoff/transcript.js";
import { brief } from "../../agents/proof/judge.js";
import { asFault, Fault, isFault } from "../../errors.js";
import { quote } from "../../quote.js";
import { findAgent, fullName, titleOf } from "../../state/agents.js";
import type { Handoff } from "../../state/handoffs.js";
import { alone } from "../agent/alone.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { step } from "../step.js";
import { mustBeAllowed } from "./allowed.js";
import { request } from "./on-host.js";
import { clearUp, type Done, finish, forget, handoffsOf, outcomeOf } from "./open.js";
import { readSource, type Source } from "./source.js";
import { summaryOf } from "./summary.js";
import { mustTakeOver, type Target } from "./target.js";
import { turnIn } from "./turn.js";

export interface HandingOver {
  /** The session, or how its id begins; without it the one that was used last. */
  session?: string | undefined;
  /** What becomes of a conversation that does not fit; refused when nobody said. */
  fit?: Fit | undefined;
  /** Tokens the window of the target's model holds. */
  context?: number | undefined;
  noTools: boolean;
  redact: boolean;
  onlyLast?: number | undefined;
  /** Patterns of tools. */
  denyTool: string[];
  close: boolean;
  /** A gateway key, by its name or id. */
  as?: string | undefined;
}

export interface HandedOver {
  plan: Plan;
  /** Nothing after a dry run. */
  done: Done | undefined;
}

/**
 * Hands a conversation over to another agent. Both ends are looked at before anything changes, and what would move is told before
 * it is asked for. Then it is written to the target in one transaction, proven by a turn that only who read it can answer, and
 * recorded. Cut short anywhere, the same command again ends as if it had not been.
 */
export async function handOver(
  session: Session,
  { from: source, to: target }: { from: string; to: string },
  options: HandingOver,
  tell: (plan: Plan) => void,
): Promise<HandedOver> {
  const fleet = session.hosts.read();
  const [from, to] = [findAgent(fleet, source), findAgent(fleet, target)];
  const key = options.as === undefined ? undefined : mustBeAllowed(session, options.as, [from, to]);
  hideSecrets(session);
  return alone(session, { host: to.host.name, name: to.name }, async () => {
    const talk = await step(session.ui, `read the conversation of ${from.name}`, () =>
      readSource(session, from, options.session),
    );
    const taker = await step(session.ui, `see that ${to.name} can take it over`, () =>
      mustTakeOver(session, to, options.context),
    );
    const what = prepared(session, talk, taker, options);
    tell(what.plan);
    mustMove(session, what, taker, options);
    const asked = askedFor(what, options);
    const before = (await clearUp(session, to)).get(asked);
    if (before) return { plan: what.plan, done: before };
    const count = what.plan.messages.all;
    const deed = {
      verb: "handoff",
      target: fullName(to),
      summary: `hand ${count} messages of ${from.name} over to ${to.name}`,
      question: `Hand ${count} messages of ${titleOf(from)} over to ${titleOf(to)}${options.close ? ", and close the session there" : ""}?`,
    };
    const handoff: Handoff = {
      id: newHandoffId(),
      from: { host: from.host.name, agent: from.name, session: talk.talk.id },
      to: { host: to.host.name, agent: to.name },
      ...{ asked, planted: "", stage: "begun", at: session.now().toISOString() },
      ...(options.close && { close: { last: talk.last } }),
      ...(key && { as: key.id }),
    };
    const done = await session.gate.pass(deed, () => move(session, handoff, what, taker), outcomeOf);
    // Only now: who is killed before the log has it finishes it again.
    if (done) await handoffsOf(session).drop(done.id);
    return { plan: what.plan, done };
  });
}

interface Prepared extends Fitted {
  plan: Plan;
  title: string;
  /** All that may travel, before anything of it was left out for its size. */
  may: Said[];
}

function prepared({ ui }: Session, { agent, talk, said }: Source, target: Target, options: HandingOver): Prepared {
  const boundary: Boundary = {
    ...{ noTools: options.noTools, onlyLast: options.onlyLast, deny: patternsIn(options.denyTool) },
    ...(options.redact && { redact: redacting((text) => ui.redact(text)) }),
  };
  const { said: may, title, taken } = within(boundary, { said, title: talk.title ?? `from ${agent.name}` });
  const fit = fitted(may, target.context, options.fit ?? "refuse");
  const plan: Plan = {
    from: { agent: titleOf(agent), session: talk.id },
    to: { agent: titleOf(target.agent), model: target.model ?? null },
    title,
    ...describe(may),
    ...{ taken, fit: fit.fit },
  };
  return { ...fit, plan, title, may };
}

/** `--deny-tool a,b --deny-tool c`. */
export const patternsIn = (words: readonly string[]): string[] =>
  words.flatMap((word) => word.split(",").map((each) => each.trim())).filter((each) => each !== "");

function mustMove(
  session: Session,
  { plan, may, said }: Prepared,
  { agent, model }: Target,
  options: HandingOver,
): void {
  if (may.length === 0) {
    throw new Fault("bad-input", "nothing of this conversation would be handed over", {
      why: plan.taken.messages > 0 ? `the boundary takes all ${plan.taken.messages} messages away` : "it is empty",
      next: `clm agent sessions show ${plan.from.agent.split(":").at(-1)} ${plan.from.session}`,
    });
  }
  if (plan.fit.context === null) {
    if (options.fit !== undefined) {
      throw new Fault("bad-input", `nobody knows how much the model of ${agent.name} can read`, {
        why: `--fit needs the window of ${model ?? "its model"}: say it with --context, or write it to models.yaml`,
        next: again(session, "--context TOKENS"),
      });
    }
    session.ui.warn(
      `the window of ${model ?? "the target's model"} is not known; taken for large enough (--context says it)`,
    );
  }
  if (!said) throw tooLarge(session, plan);
}

const tooLarge = (session: Session, { tokens, fit, to }: Plan): Fault =>
  new Fault("bad-input", `the conversation does not fit the window of ${to.model ?? "the target's model"}`, {
    why: [
      `it has about ${tokens} tokens; ${fit.room} of ${fit.context} are for a transcript`,
      fit.by === "refuse" ? "nothing was changed" : "not even the last turn fits; nothing was changed",
    ],
    next:
      fit.by === "refuse"
        ? ["trim", "summarise"].map((how) => again(session, `--fit ${how}`))
        : again(session, "--no-tools"),
    data: { tokens, ...fit },
  });

/** What was typed, with something more: a boundary that was asked for must not be lost on the way. */
const again = ({ argv }: Session, more: string): string => `clm ${argv.map(quote).join(" ")} ${more}`;

/** The same for the same conversation and the same wishes. */
const askedFor = ({ plan, may }: Prepared, options: HandingOver): string => {
  const { fit, context, close, as } = options;
  const all = { from: plan.from, to: plan.to.agent, title: plan.title, fit, context, close, as, digest: digestOf(may) };
  return createHash("sha256").update(JSON.stringify(all)).digest("hex");
};

async function move(session: Session, first: Handoff, what: Prepared, target: Target): Promise<Done> {
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
    const notes = planted(what.plan.from.agent, code, at);
    const counts = countsOf(said);
    await note({
      planted: String(notes[0]?.content),
      moved: { hash: digestOf(said), messages: said.length, calls: Number(counts.tool_call_count) },
    });
    await step(ui, `write ${said.length} messages to ${agent.name}`, () =>
      request(
        session,
        agent,
        {
          ...{ verb: "seed", id: handoff.id, session: sessionRow(said, what.title, target.model) },
          messages: [...said, ...notes].map(rowOf),
        },
        session.signal,
      ),
    );
    await note({ stage: "seeded" });
    await step(ui, `have ${agent.name} prove that it read them`, () => prove(session, handoff.id, target, code));
    await note({ stage: "proven" });
  } catch (error) {
    throw await undone(session, handoff, error);
  }
  return step(ui, "take the proof out again and compare", () => finish(session, handoff)).catch((error) => {
    if (isFault(error, "connection-lost", "unreachable")) error.next.push("the same command again, which finishes it");
    throw error;
  });
}

async function whatMoves(
  session: Session,
  id: string,
  { said, summarise, fit }: Prepared,
  target: Target,
): Promise<Said[]> {
  if (!summarise) return said ?? [];
  const title = `have ${target.agent.name} summarise ${summarise.older.length} messages`;
  const summary = await step(session.ui, title, () => summaryOf(session, target, id, summarise));
  return summarised(summarise, summary, fit.room ?? 0);
}

async function prove(session: Session, id: string, { agent }: Target, code: string): Promise<void> {
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
    next: `clm agent doctor ${agent.word}`,
  });
}

// Also who stops clm does not want half a session there.
const patience = 30_000;

/** Takes everything away from the target again, and gives back why. */
async function undone(session: Session, handoff: Handoff, error: unknown): Promise<unknown> {
  try {
    await forget(session, handoff, AbortSignal.timeout(patience));
    if (error instanceof Fault && error.fault !== "interrupted") error.why.push("nothing of it is left on the target");
  } catch (trouble) {
    session.ui.warn(`what was begun on ${handoff.to.agent} could not be taken away: ${asFault(trouble).message}`);
    if (error instanceof Fault) error.next.push(`clm handoff --abandon ${handoff.id}`);
  }
  return error;
}
