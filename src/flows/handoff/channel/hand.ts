import type { ChannelReply, ChannelState } from "../../../agents/handoff/store.js";
import { Fault } from "../../../errors.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import { type Target, targetOf } from "../../agent/target.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { withProgress } from "../../with-progress.js";
import { unfinishedSessions } from "../source.js";
import { askForChannel } from "./ask.js";
import { type ChannelHandoff, failureIn, inTheWay } from "./faults.js";
import { mustBeUp, mustHaveChannel } from "./possible.js";

export interface ChannelOptions {
  /** Its name in the manifest: `discord`. */
  channel: string;
  /** Its id or a prefix of it; by default the one used last. */
  session?: string | undefined;
  /** Give up an unfinished request, and repeat a completed one. */
  reset: boolean;
  /** Seconds. */
  wait: number;
}

export interface ChannelHandoffResult {
  agent: string;
  host: string;
  session: string;
  title: string | null;
  channel: string;
  result: "handed" | "already-there";
}

const longestWait = 3600;

/** The agent itself moves the session. Undefined after a dry run. */
export async function handToChannel(
  session: Session,
  word: string,
  { channel, session: id, reset, wait }: ChannelOptions,
): Promise<ChannelHandoffResult | undefined> {
  if (!(wait > 0 && wait <= longestWait)) {
    throw new Fault("bad-input", `--wait cannot be ${wait} seconds`, {
      why: `more than 0, and at most ${longestWait}`,
    });
  }
  // The agent's messages may contain any secret.
  hideSecrets(session);
  const target = await targetOf(session, word);
  mustHaveChannel(target, channel);
  const before = await withProgress(session.ui, `look at the session of ${target.agent.name}`, async () => {
    await mustBeUp(session, target);
    return readState(session, target, id);
  });
  const asked: ChannelHandoff = { ...target, channel, session: before.id, wait };
  const { agent } = asked;
  const told = { agent: agent.name, host: agent.host.name, session: before.id, title: before.title, channel };
  if (before.state === "completed" && before.platform === channel && !reset) {
    session.ui.note("it was handed over before; --reset repeats it");
    return { ...told, result: "already-there" };
  }
  const isLeft = before.state === "running";
  const trouble = inTheWay(asked, before);
  if (trouble && !(reset && isLeft)) throw trouble;
  const action = {
    verb: "handoff",
    target: hostAndName(agent),
    summary: `hand session ${before.id} of ${agentId(agent)} to ${channel}`,
    question: isLeft
      ? `Give up what ${agent.name} began for ${before.platform ?? "a channel"}? If it is still working on it, the two may mix.`
      : `Let everybody on ${channel} read what was said in ${before.id} (${before.title ?? "without a title"}, ${before.messages ?? 0} messages)?`,
  };
  const result = await session.gate.pass(
    action,
    () => hand(session, asked, reset),
    () => ({ result: "ok", detail: { session: before.id, channel } }),
  );
  return result && { ...told, result };
}

async function readState(session: Session, target: Target, id?: string): Promise<ChannelState> {
  let before: ChannelState | undefined;
  const look = {
    verb: "look",
    ...(id && { session: id }),
    without: unfinishedSessions(session, target.agent),
  } as const;
  for await (const said of askForChannel(session, target, look)) {
    before ??= said.session;
  }
  session.signal.throwIfAborted();
  if (!before) throw new Fault("not-found", `${target.agent.name} has no session yet`);
  return before;
}

async function hand(session: Session, asked: ChannelHandoff, reset: boolean): Promise<"handed"> {
  const { agent, channel, wait } = asked;
  return withProgress<"handed">(session.ui, `hand the session to ${channel}`, async (progress) => {
    const request = { verb: "hand", session: asked.session, platform: channel, reset, wait } as const;
    let last: ChannelReply = {};
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

const progressOf = (name: string, { state, joined }: ChannelReply): string =>
  state === "running"
    ? `${name} is working on it`
    : joined
      ? `the same request exists already; waiting for ${name}`
      : `waiting for ${name}`;

function stopped({ ui, signal }: Session, { agent, channel }: ChannelHandoff, { ended, state }: ChannelReply): unknown {
  if (ended === "taken-back") ui.note("the request was withdrawn: nothing was handed over");
  if (ended === "left-pending") ui.warn("somebody else made the request, so it was left");
  if (ended === "in-use") ui.warn(`the sessions of ${agent.name} were in use: the request may still be ${state}`);
  if (ended === "left-running") ui.warn(`${agent.name} had begun and goes on: the same command says what came of it`);
  if (ended === "completed") ui.note(`it was handed to ${channel} just before`);
  return signal.reason;
}
