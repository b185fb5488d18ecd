import type { HandoffPlan } from "../../agents/handoff/plan.js";
import type { ChannelHandoffResult } from "../../flows/handoff/channel/hand.js";
import type { CompletedHandoff } from "../../flows/handoff/open.js";
import type { Handoff } from "../../state/handoffs.js";
import type { View } from "../command.js";
import { describe } from "../describe.js";

export function planText(plan: HandoffPlan): string {
  const { messages, tools, taken, since, until, attachments } = plan;
  const called = Object.entries(tools).map(([name, count]) => `${name} ${count}`);
  return describe(12, [
    ["From", `${plan.from.agent}, session ${plan.from.session}`],
    ["To", `${plan.to.agent}${plan.to.model ? ` (${plan.to.model})` : ""}`],
    ["Title", plan.title],
    [
      "Messages",
      `${messages.all}: ${messages.user} of the user, ${messages.assistant} of the assistant, ${messages.tool} of tools`,
    ],
    ["Tool calls", called.join(", ")],
    ["Attachments", attachments > 0 ? counted(attachments, "picture") : undefined],
    ["Tokens", `about ${plan.tokens}`],
    ["Time", since && until ? `${clock(since)} to ${clock(until)}` : undefined],
    ["Left out", takenText(taken, plan.fit)],
    ["Window", windowText(plan.fit)],
  ]);
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
const clock = (time: string): string => time.replace("T", " ").replace(/\.\d+Z$/, "");

function takenText({ messages, outputs, changed }: HandoffPlan["taken"], { by, older }: HandoffPlan["fit"]): string {
  return [
    ...(by === "trim" && older > 0 ? [counted(older, "earlier message")] : []),
    ...(messages > 0 ? [counted(messages, "message")] : []),
    ...(outputs > 0 ? [`${counted(outputs, "output")} of denied tools`] : []),
    ...(changed > 0 ? [`parts of ${counted(changed, "other")}`] : []),
  ].join(", ");
}

function windowText({ context, room, fits, by, older }: HandoffPlan["fit"]): string {
  if (context === null) return "not known";
  const size = `${room} of ${context} tokens are for a transcript`;
  if (fits) return `${size}: it fits`;
  const means = { nothing: "", refuse: "does not fit", trim: "are left out", summarise: "are summarised" }[by];
  return by === "refuse" || older === 0 ? `${size}: it does not fit` : `${size}: ${older} earlier messages ${means}`;
}

export const told = ({ from, to, messages, hash, closed }: CompletedHandoff): string =>
  [
    `copied ${messages} messages to ${to.agent}, session ${to.session}`,
    `sha256: ${hash}`,
    ...(closed ? [`${from.session} of ${from.agent} is closed`] : []),
    `continue with: clm chat ${to.agent} --session ${to.session}`,
  ].join("\n");

export const toldInChannel = ({ host, agent, session, channel, result }: ChannelHandoffResult): string =>
  result === "already-there"
    ? `session ${session} of ${host}/${agent} is on ${channel} already`
    : `session ${session} of ${host}/${agent} continues on ${channel}`;

const place = ({ host, agent }: { host: string; agent: string }): string => `${host}/${agent}`;

/** Handoffs that were cut short, or are under way. */
export const openView: View<Handoff> = {
  columns: [
    { title: "handoff", value: ({ id }) => id, whole: true },
    { title: "from", value: ({ from }) => place(from) },
    { title: "session", value: ({ from }) => from.session, drop: 1 },
    { title: "to", value: ({ to }) => place(to) },
    { title: "stage", value: ({ stage }) => stage },
    { title: "begun", value: ({ at }) => clock(at), drop: 2 },
  ],
  data: ({ id, from, to, stage, at }) => ({ id, from, to, stage, at }),
  name: ({ id }) => id,
  empty: "No handoff is open.",
};
