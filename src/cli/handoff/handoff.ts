import type { HandoffPlan } from "../../agents/handoff/plan.js";
import { Fault } from "../../errors.js";
import { type ChannelHandoffResult, handToChannel } from "../../flows/handoff/channel/hand.js";
import { handOver } from "../../flows/handoff/hand-over.js";
import { abandon, type CompletedHandoff } from "../../flows/handoff/open.js";
import { type Handoff, openHandoffs } from "../../state/handoffs.js";
import { clock } from "../../ui/time.js";
import type { Handler, View } from "../command.js";
import { describe } from "../describe.js";
import type { handoff } from "./commands.js";

type Invocation = Parameters<Handler<typeof handoff>>[0];

export const run: Handler<typeof handoff> = async ({ args, options }, clm) => {
  mustGoTogether({ args, options });
  if (options.list) return void clm.list(openHandoffs(clm.configDir).all(), openView);
  const { abandon: id } = options;
  if (id !== undefined) {
    const { to } = await clm.withSession((session) => abandon(session, id));
    if (!clm.dryRun) clm.show({ id, abandoned: true }, () => `nothing of ${id} is left on ${to.host}/${to.agent}`);
    return;
  }
  const { src: from = "", dst: to = "" } = args;
  return clm.withSession(async (session) => {
    if (options.toChannel !== undefined) {
      const { toChannel: channel, reset, wait = 90, session: id } = options;
      const handed = await handToChannel(session, from, { channel, reset, wait, session: id });
      if (handed) clm.show(handed, () => channelResult(handed));
      return;
    }
    const { plan, done } = await handOver(session, { from, to }, options, (plan) => {
      if (clm.format === "table") clm.show(plan, () => planText(plan));
    });
    if (clm.format !== "table") clm.show({ ...plan, done: done ?? null });
    else if (done) clm.show(done, () => handoffResult(done));
  });
};

const besides = ["fit", "context", "onlyLast", "as"] as const;
const flags = ["noTools", "redact", "close"] as const;

/** Whether an option changes how a conversation is handed over. */
const hasBoundary = (options: Invocation["options"]): boolean =>
  besides.some((name) => options[name] !== undefined) ||
  flags.some((name) => options[name]) ||
  options.denyTool.length > 0;

/** Valid are two agents, one agent and a channel, or no agent with --list or --abandon. */
function mustGoTogether({ args: { src: from, dst: to }, options }: Invocation): void {
  const { list, abandon: id, toChannel, reset, wait, session } = options;
  const wrong = (what: string, why = "") =>
    new Fault("usage", what, { ...(why && { why }), next: "clm handoff --help" });
  if (list || id !== undefined) {
    if (list && id !== undefined) throw wrong("--list and --abandon exclude each other");
    const word = list ? "--list" : "--abandon";
    if (from !== undefined) throw wrong(`${word} goes with no agent`);
    const said = [session, toChannel, wait, list ? options.sudoPasswordFile : undefined];
    if (reset || said.some((each) => each !== undefined) || hasBoundary(options)) {
      throw wrong(`${word} goes with no other option`, "an open handoff keeps the options it was started with");
    }
    return;
  }
  if (from === undefined) throw wrong("name the agent that has the conversation and the agent that takes it over");
  if (toChannel === undefined) {
    if (to === undefined)
      throw wrong(
        "name the agent that takes over the conversation",
        "an agent, or --to-channel with one of its channels",
      );
    if (reset || wait !== undefined) throw wrong("--reset and --wait go with --to-channel");
    return;
  }
  if (to !== undefined) throw wrong("--to-channel goes with one agent", "the session stays with the agent that has it");
  if (hasBoundary(options)) {
    throw wrong("--to-channel moves a session as it is", "a boundary, --fit, --close and --as are for another agent");
  }
}

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

function takenText({ messages, outputs, changed }: HandoffPlan["taken"], { by, older }: HandoffPlan["fit"]): string {
  return [
    ...(by === "trim" && older > 0 ? [counted(older, "earlier message")] : []),
    ...(messages > 0 ? [counted(messages, "message")] : []),
    ...(outputs > 0 ? [`${counted(outputs, "output")} of denied tools`] : []),
    ...(changed > 0 ? [`parts of ${counted(changed, "other")}`] : []),
  ].join(", ");
}

function windowText({ context, room, fits, by, older }: HandoffPlan["fit"]): string {
  if (context === null) return "unknown";
  const size = `${room} of ${context} tokens are for a transcript`;
  if (fits) return `${size}: it fits`;
  const means = { nothing: "", refuse: "does not fit", trim: "are left out", summarise: "are summarised" }[by];
  return by === "refuse" || older === 0 ? `${size}: it does not fit` : `${size}: ${older} earlier messages ${means}`;
}

export const handoffResult = ({ from, to, messages, hash, closed }: CompletedHandoff): string =>
  [
    `copied ${messages} messages to ${to.agent}, session ${to.session}`,
    `sha256: ${hash}`,
    ...(closed ? [`${from.session} of ${from.agent} is closed`] : []),
    `continue with: clm chat ${to.agent} --session ${to.session}`,
  ].join("\n");

const channelResult = ({ host, agent, session, channel, result }: ChannelHandoffResult): string =>
  result === "already-there"
    ? `session ${session} of ${host}/${agent} is on ${channel} already`
    : `session ${session} of ${host}/${agent} continues on ${channel}`;

const place = ({ host, agent }: { host: string; agent: string }): string => `${host}/${agent}`;

/** Handoffs that were cut short, or are under way. */
const openView: View<Handoff> = {
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
