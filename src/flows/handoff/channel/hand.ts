import type { ChannelReply, ChannelRequest, ChannelState } from "../../../agents/handoff/store.js";
import { capability } from "../../../agents/type.js";
import { Fault } from "../../../errors.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import type { Progress } from "../../../ui/ui.js";
import { runHostProgram } from "../../agent/run-host-program.js";
import { type AgentTarget, targetOf } from "../../agent/target.js";
import { check, flow } from "../../flow.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { unfinishedSessions } from "../source.js";
import { type ChannelHandoff, conflictWith, outcomeFault } from "./faults.js";
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

/** The agent itself moves the session. Undefined after a dry run. */
export async function handToChannel(
  session: Session,
  word: string,
  { channel, session: id, reset, wait }: ChannelOptions,
): Promise<ChannelHandoffResult | undefined> {
  // The agent's messages may contain any secret.
  hideSecrets(session);
  const target = await targetOf(session, word);
  mustHaveChannel(target, channel);
  const { agent } = target;
  const before = await check(session, `read the session of ${agent.name}`, async () => {
    await mustBeUp(session, target);
    return readState(session, target, id);
  });
  const asked: ChannelHandoff = { ...target, channel, session: before.id, wait };
  const handoff = { agent: agent.name, host: agent.host.name, session: before.id, title: before.title, channel };
  if (before.state === "completed" && before.platform === channel && !reset) {
    session.ui.note("it was handed over before; --reset repeats it");
    return { ...handoff, result: "already-there" };
  }
  const isUnfinished = before.state === "running";
  const conflict = conflictWith(asked, before);
  if (conflict && !(reset && isUnfinished)) throw conflict;
  const action = {
    verb: "handoff",
    target: hostAndName(agent),
    summary: `hand session ${before.id} of ${agentId(agent)} to ${channel}`,
    question: isUnfinished
      ? `Cancel the handoff that ${agent.name} began to ${before.platform ?? "a channel"}? If it is still working on it, both handoffs may mix.`
      : `Let everybody on ${channel} read session ${before.id} (${before.title ?? "without a title"}, ${before.messages ?? 0} messages)?`,
  };
  const request: ChannelRequest = { verb: "request-handoff", session: before.id, platform: channel, reset, wait };
  const replies = askForChannel(session, target, request);
  return flow(
    session,
    action,
    async ({ change, prove }) => {
      const first = await change(`write the request to the sessions of ${agent.name}`, () => replies.next());
      if (!first) return undefined;
      await prove(`wait until ${agent.name} has handed the session to ${channel}`, (progress) =>
        mustBeHanded(session, asked, progress, first, replies),
      );
      return { ...handoff, result: "handed" as const };
    },
    () => ({ session: before.id, channel }),
  );
}

async function readState(session: Session, target: AgentTarget, id?: string): Promise<ChannelState> {
  let before: ChannelState | undefined;
  const exclude = unfinishedSessions(session, target.agent);
  const request: ChannelRequest = { verb: "show-session", ...(id && { session: id }), exclude };
  for await (const reply of askForChannel(session, target, request)) before ??= reply.session;
  session.signal.throwIfAborted();
  if (!before) throw new Fault("not-found", `${target.agent.name} has no session yet`);
  return before;
}

// For connecting, starting Python and a locked database, beyond the wait itself.
const spareSeconds = 60;

/** An interrupted wait still yields the outcome. */
async function* askForChannel(
  session: Session,
  target: AgentTarget,
  request: ChannelRequest,
): AsyncGenerator<ChannelReply> {
  session.signal.throwIfAborted();
  const { manifest, paths } = target.resolved;
  const { name, host, ref } = target.agent;
  const program = (await capability(manifest, "handoff")).toChannel(request, paths);
  const seconds = Math.ceil(request.verb === "request-handoff" ? request.wait : 0) + spareSeconds;
  const options = { verb: "handed over", seconds, signal: session.signal, awaitAnswer: true };
  for await (const reply of runHostProgram<ChannelReply>(session, target, program, options)) {
    if (reply.absent) throw new Fault("not-found", `${name} has no session yet`, { next: `clm chat ${ref}` });
    if (reply.fault) {
      throw new Fault("remote-failed", `the sessions of ${name} cannot be changed on ${host.name}`, {
        why: [reply.why ?? reply.fault, paths.data],
        next: `clm agent doctor ${ref}`,
      });
    }
    yield reply;
  }
}

async function mustBeHanded(
  session: Session,
  asked: ChannelHandoff,
  progress: Progress,
  first: IteratorResult<ChannelReply>,
  replies: AsyncGenerator<ChannelReply>,
): Promise<void> {
  let last: ChannelReply = {};
  // To its end, so that the program on the host has ended too.
  for (let next = first; !next.done; next = await replies.next()) {
    if (next.value.busy || next.value.outcome) last = next.value;
    else progress.update(progressOf(asked.agent.name, next.value));
  }
  const { busy, platform = null, outcome } = last;
  if (busy) throw conflictWith(asked, { state: busy, platform }) ?? outcomeFault(asked, last);
  if (session.signal.aborted) throw stopped(session, asked, last);
  if (outcome !== "completed") throw outcomeFault(asked, last);
}

const progressOf = (name: string, { state, joined }: ChannelReply): string =>
  state === "running"
    ? `${name} is working on it`
    : joined
      ? `the same request exists already; waiting for ${name}`
      : `waiting for ${name}`;

function stopped(
  { ui, signal }: Session,
  { agent, channel }: ChannelHandoff,
  { outcome, state }: ChannelReply,
): unknown {
  if (outcome === "withdrawn") ui.note("the request was withdrawn: nothing was handed over");
  if (outcome === "left-pending") ui.warn("another client made the request, so it was kept");
  if (outcome === "database-locked")
    ui.warn(`the session database of ${agent.name} was locked: the request may still be ${state}`);
  if (outcome === "left-running")
    ui.warn(`${agent.name} has begun and continues: run the same command again for the result`);
  if (outcome === "completed") ui.note(`the session was handed to ${channel} before the interrupt`);
  return signal.reason;
}
