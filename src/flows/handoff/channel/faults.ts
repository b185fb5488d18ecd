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

const neverGivenUp = ({ resolved }: ChannelHandoff): string =>
  `${resolved.manifest.title} never gives up a request that its process left in the middle`;

/** Why a session cannot be requested now, unless it is reset. */
export function inTheWay(
  asked: ChannelHandoff,
  { state, platform }: Pick<ChannelState, "state" | "platform">,
): Fault | undefined {
  const { session, channel } = asked;
  const where = platform ?? "a channel";
  if (state === "running") {
    return new Fault("conflict", `session ${session} is being handed to ${where}`, {
      why: ["either the agent is at work on it, or it ended in the middle of it", neverGivenUp(asked)],
      next: again(asked, channel, ["--reset"]),
    });
  }
  if (state === "pending" && platform !== channel) {
    return new Fault("conflict", `session ${session} is about to be handed to ${where}`, {
      next: platform ? again(asked, platform) : [],
    });
  }
  return undefined;
}

/** Any other outcome is that of another request. */
export function failureIn(asked: ChannelHandoff, { outcome, error, ...reply }: ChannelReply): Fault {
  const { agent, channel, session, wait } = asked;
  const { name, ref } = agent;
  switch (outcome) {
    case "failed":
      return new Fault("remote-failed", `${name} did not hand session ${session} to ${channel}`, {
        why: error ?? "it does not say why",
        next: afterError(asked, error ?? ""),
        data: { error },
      });
    case "timed-out":
      return new Fault("remote-timeout", `${name} did not take up the request in ${wait} s`, {
        why: "the request was withdrawn: nothing will happen later",
        next: `clm agent doctor ${ref}`,
      });
    case "left-pending":
      return new Fault("remote-timeout", `${name} did not take up the request in ${wait} s`, {
        why: "somebody else made it, so it was left: the agent may take it up later",
        next: [again(asked, channel), `clm agent doctor ${ref}`],
      });
    case "database-locked":
      return new Fault("remote-failed", `the sessions of ${name} were in use for too long`, {
        why: [
          error ?? "its database is locked",
          `when it was last seen, the request for session ${session} was ${reply.state}`,
        ],
        next: [again(asked, channel), `clm agent doctor ${ref}`],
        data: { state: reply.state },
      });
    case "stuck": {
      const what = `${name} began to hand session ${session} to ${channel} and did not end in ${wait} s`;
      return new Fault("remote-timeout", what, {
        why: [neverGivenUp(asked), "until it is reset, this session can be handed to no channel"],
        next: again(asked, channel, ["--reset"]),
      });
    }
    default:
      return new Fault("conflict", `somebody else asked for session ${session} meanwhile`, {
        why: `it is ${reply.busy ?? reply.state ?? "free"}${reply.platform ? `, for ${reply.platform}` : ""}`,
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
