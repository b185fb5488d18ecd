import { Fault } from "../../errors.js";
import { handToChannel } from "../../flows/handoff/channel/hand.js";
import { handOver } from "../../flows/handoff/hand-over.js";
import { abandon } from "../../flows/handoff/open.js";
import { withSession } from "../../flows/session.js";
import { openHandoffs } from "../../state/handoffs.js";
import type { Handler } from "../command.js";
import type { handoff } from "./commands.js";
import { openView, planText, told, toldInChannel } from "./text.js";

type Invocation = Parameters<Handler<typeof handoff>>[0];

export const run: Handler<typeof handoff> = async ({ args, options }, clm) => {
  mustGoTogether({ args, options });
  if (options.list) return void clm.list(openHandoffs(clm.configDir).all(), openView);
  const { abandon: id } = options;
  if (id !== undefined) {
    const { to } = await withSession(clm, (session) => abandon(session, id));
    if (!clm.dryRun) clm.show({ id, abandoned: true }, () => `nothing of ${id} is left on ${to.host}/${to.agent}`);
    return;
  }
  const { src: from = "", dst: to = "" } = args;
  return withSession(clm, async (session) => {
    if (options.toChannel !== undefined) {
      const { toChannel: channel, reset, wait = 90, session: id } = options;
      const handed = await handToChannel(session, from, { channel, reset, wait, session: id });
      if (handed) clm.show(handed, () => toldInChannel(handed));
      return;
    }
    const { plan, done } = await handOver(session, { from, to }, options, (plan) => {
      if (clm.format === "table") clm.show(plan, () => planText(plan));
    });
    if (clm.format !== "table") clm.show({ ...plan, done: done ?? null });
    else if (done) clm.show(done, () => told(done));
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
      throw wrong(`${word} goes with no other option`, "what is open was asked for with its own");
    }
    return;
  }
  if (from === undefined) throw wrong("say whose conversation, and who takes it over");
  if (toChannel === undefined) {
    if (to === undefined)
      throw wrong("say who takes the conversation over", "an agent, or --to-channel with one of its channels");
    if (reset || wait !== undefined) throw wrong("--reset and --wait go with --to-channel");
    return;
  }
  if (to !== undefined) throw wrong("--to-channel goes with one agent", "the session stays with the agent that has it");
  if (hasBoundary(options)) {
    throw wrong("--to-channel moves a session as it is", "a boundary, --fit, --close and --as are for another agent");
  }
}
