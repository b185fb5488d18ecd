import type { ChannelReply, ChannelState } from "../../../agents/handoff/store.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import { own } from "../../../text/own-property.js";
import type { AgentTarget } from "../../agent/target.js";

export interface ChannelHandoff extends AgentTarget {
  channel: string;
  session: string;
  wait: number;
}

const again = ({ agent, session }: ChannelHandoff, channel: string, more: string[] = []): string =>
  sh`clm handoff ${agent.ref} --to-channel ${channel} --session ${session} ${more}`.trimEnd();

const neverCanceled = ({ resolved }: ChannelHandoff): string =>
  `${resolved.manifest.title} neither resumes nor cancels a handoff that its process did not finish`;

/** Why a session cannot be requested now, unless it is reset. */
export function conflictWith(
  asked: ChannelHandoff,
  { state, platform }: Pick<ChannelState, "state" | "platform">,
): Fault | undefined {
  const { session, channel } = asked;
  const where = platform ?? "a channel";
  if (state === "running") {
    return new Fault("conflict", `session ${session} is being handed to ${where}`, {
      why: ["either the agent is still working on it, or its process ended before it was done", neverCanceled(asked)],
      next: again(asked, channel, ["--reset"]),
    });
  }
  if (state === "pending" && platform !== channel) {
    return new Fault("conflict", `session ${session} waits to be handed to ${where}`, {
      next: platform ? again(asked, platform) : [],
    });
  }
  return undefined;
}

/** The fault for a handoff that did not complete. An unknown outcome comes from another client's request. */
export function outcomeFault(asked: ChannelHandoff, { outcome, error, ...reply }: ChannelReply): Fault {
  const { agent, channel, session, wait } = asked;
  const { name, ref } = agent;
  switch (outcome) {
    case "failed":
      return new Fault("remote-failed", `${name} did not hand session ${session} to ${channel}`, {
        why: error ?? "it reports no reason",
        next: afterError(asked, error ?? ""),
        data: { error },
      });
    case "timed-out":
      return new Fault("remote-timeout", `${name} did not start the handoff within ${wait} s`, {
        why: "the request was withdrawn, so the handoff cannot happen later",
        next: `clm agent doctor ${ref}`,
      });
    case "left-pending":
      return new Fault("remote-timeout", `${name} did not start the handoff within ${wait} s`, {
        why: "another client made the request, so it was kept: the agent may still start it",
        next: [again(asked, channel), `clm agent doctor ${ref}`],
      });
    case "database-locked":
      return new Fault("remote-failed", `the session database of ${name} stayed locked`, {
        why: [
          error ?? "its database is locked",
          `when last read, the request for session ${session} was ${reply.state}`,
        ],
        next: [again(asked, channel), `clm agent doctor ${ref}`],
        data: { state: reply.state },
      });
    case "stuck": {
      const what = `${name} began to hand session ${session} to ${channel} and did not finish within ${wait} s`;
      return new Fault("remote-timeout", what, {
        why: [neverCanceled(asked), "until the handoff is reset, this session cannot be handed to any channel"],
        next: again(asked, channel, ["--reset"]),
      });
    }
    default:
      return new Fault("conflict", `another client changed the handoff of session ${session}`, {
        why: `its state is ${reply.busy ?? reply.state ?? "free"}${reply.platform ? `, for ${reply.platform}` : ""}`,
        next: again(asked, channel),
      });
  }
}

function afterError({ agent, resolved, channel }: ChannelHandoff, error: string): string {
  const home = own(resolved.manifest.channels, channel)?.fields.find(({ env }) => /_HOME_[A-Z]+$/.test(env ?? ""));
  if (/no home channel/i.test(error) && home)
    return `clm agent configure ${agent.ref} --channel ${channel} --set ${channel}.${home.name}=ID`;
  return /not active|unknown platform/i.test(error) ? `clm agent doctor ${agent.ref}` : `clm agent logs ${agent.ref}`;
}
