import type { Said, Standing } from "../../../agents/hermes/handoff/channel/request.js";
import { Fault } from "../../../errors.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import { type Target, targetOf } from "../../agent/target.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { halfMade } from "../source.js";
import { askForChannel } from "./ask.js";
import { type Asked, failureIn, inTheWay } from "./faults.js";
import { mustBeUp, mustHaveChannel } from "./possible.js";

export interface ToChannel {
  /** As Hermes calls it: `discord`. */
  channel: string;
  /** Its id, or how that begins; without it the one that was used last. */
  session?: string | undefined;
  /** What an earlier request left in the middle is given up, and what is there already is handed once more. */
  reset: boolean;
  /** Seconds. */
  wait: number;
}

export interface InChannel {
  agent: string;
  host: string;
  session: string;
  title: string | null;
  channel: string;
  result: "handed" | "already-there";
}

const longestWait = 3600;

/** Hands a session of an agent to one of its channels, by the agent's own means. Nothing comes back from a dry run. */
export async function handToChannel(
  session: Session,
  word: string,
  { channel, session: meant, reset, wait }: ToChannel,
): Promise<InChannel | undefined> {
  if (!(wait > 0 && wait <= longestWait)) {
    throw new Fault("bad-input", `nobody can wait for ${wait} seconds`, {
      why: `more than 0, and at most ${longestWait}`,
    });
  }
  // The agent's own words may hold any of them.
  hideSecrets(session);
  const target = await targetOf(session, word);
  mustHaveChannel(target, channel);
  const standing = await step(session.ui, `look at the session of ${target.agent.name}`, async () => {
    await mustBeUp(session, target);
    return standingOf(session, target, meant);
  });
  const asked: Asked = { ...target, channel, session: standing.id, wait };
  const { agent } = asked;
  const told = { agent: agent.name, host: agent.host.name, session: standing.id, title: standing.title, channel };
  if (standing.state === "completed" && standing.platform === channel && !reset) {
    session.ui.note("it was handed over before; --reset does it once more");
    return { ...told, result: "already-there" };
  }
  const isLeft = standing.state === "running";
  const trouble = inTheWay(asked, standing);
  if (trouble && !(reset && isLeft)) throw trouble;
  const action = {
    verb: "handoff",
    target: hostAndName(agent),
    summary: `hand session ${standing.id} of ${agentId(agent)} to ${channel}`,
    question: isLeft
      ? `Give up what ${agent.name} began for ${standing.platform ?? "a channel"}? If it is still at work on it, both get mixed up.`
      : `Let everybody on ${channel} read what was said in ${standing.id} (${standing.title ?? "without a title"}, ${standing.messages ?? 0} messages)?`,
  };
  const detail = { session: standing.id, channel };
  const result = await session.gate.pass(
    action,
    () => hand(session, asked, reset),
    () => ({ result: "ok", detail }),
  );
  return result && { ...told, result };
}

async function standingOf(session: Session, target: Target, meant?: string): Promise<Standing> {
  let standing: Standing | undefined;
  const look = { verb: "look", ...(meant && { session: meant }), without: halfMade(session, target.agent) } as const;
  for await (const said of askForChannel(session, target, look)) {
    standing ??= said.session;
  }
  session.signal.throwIfAborted();
  if (!standing) throw new Fault("not-found", `${target.agent.name} has no session yet`);
  return standing;
}

async function hand(session: Session, asked: Asked, reset: boolean): Promise<"handed"> {
  const { agent, channel, wait } = asked;
  return step<"handed">(session.ui, `hand the session to ${channel}`, async (progress) => {
    const request = { verb: "hand", session: asked.session, platform: channel, reset, wait } as const;
    let last: Said = {};
    for await (const said of askForChannel(session, asked, request)) {
      if (said.busy)
        throw inTheWay(asked, { state: said.busy, platform: said.platform ?? null }) ?? failureIn(asked, said);
      if (said.ended) last = said;
      else progress.update(progressOf(agent.name, said));
    }
    if (session.signal.aborted) throw stopped(session, asked, last);
    if (last.ended !== "completed") throw failureIn(asked, last);
    return "handed";
  });
}

const progressOf = (name: string, { state, joined }: Said): string =>
  state === "running"
    ? `${name} is at work on it`
    : joined
      ? `it was asked before; waiting for ${name}`
      : `waiting for ${name}`;

/** Who stopped is told what became of the request. */
function stopped({ ui, signal }: Session, { agent, channel }: Asked, { ended, state }: Said): unknown {
  if (ended === "taken-back") ui.note("the request was taken back: nothing was handed over");
  if (ended === "left-pending") ui.warn("somebody else made the request, and it was left as it is");
  if (ended === "in-use") ui.warn(`the sessions of ${agent.name} were in use: the request may still be ${state}`);
  if (ended === "left-running") ui.warn(`${agent.name} had begun and goes on: the same command says what came of it`);
  if (ended === "completed") ui.note(`it was handed to ${channel} just before`);
  return signal.reason;
}
