import { errorOf, faults } from "../../../errors.js";
import { codeOf, type Ended, execInAgents, exitIn } from "../../../flows/agent/inside/exec.js";
import { cleanCut } from "../../../flows/clean-cut.js";
import type { Outcome } from "../../../flows/fleet/each.js";
import { type Session, withSession } from "../../../flows/session.js";
import { sh } from "../../../quote.js";
import { type Agent, fullName } from "../../../state/agents.js";
import { plain } from "../../../ui/plain.js";
import type { Context, Handler, Input } from "../../command.js";
import { chooseAgents, isLone, paceOf, rerunLine, summarize } from "../../many.js";
import { identityOf } from "../view.js";
import { exec } from "./commands.js";
import { type Heard, heard } from "./heard.js";

type Given = Input<NonNullable<typeof exec.args>, NonNullable<typeof exec.options>>;

export const run: Handler<typeof exec> = async (given, clm) => {
  const { names } = given.args;
  const agents = chooseAgents(clm, names, given.options);
  const lone = isLone(names) ? agents[0] : undefined;
  return withSession({ ...clm, sudoPasswordFile: given.options.sudoPasswordFile }, (session) =>
    lone ? inOne(session, clm, lone, given) : inMany(session, clm, agents, given),
  );
};

/** As if it ran here: its streams are ours, and so is its exit code. */
async function inOne(session: Session, clm: Context, agent: Agent, given: Given): Promise<number | undefined> {
  const { command } = given.args;
  const { raw } = given.options;
  const stdin = clm.stdin();
  const said = heard(cleanCut(session));
  const hear: Heard["hear"] =
    clm.format === "table" ? (_, stream, bytes) => clm.ui.pass(stream, bytes, { raw }) : said.hear;
  const input = stdin.isTTY ? undefined : stdin;
  const [outcome] = await execInAgents(session, [agent], { command, input, hear }, { parallel: 1 });
  if (!outcome) return undefined;
  // What kept it from running, or from being heard to its end, is an error of ours.
  if (outcome.fault && !exitIn(outcome.fault)) throw outcome.fault;
  if (clm.format !== "table") clm.show(machine(outcome, said), () => "");
  return exitOf(outcome);
}

async function inMany(session: Session, clm: Context, agents: Agent[], { args, options }: Given): Promise<number> {
  const said = heard(cleanCut(session));
  const heardAll = (agent: Agent) => {
    if (clm.format === "table") block(clm, agent, said, options.raw);
  };
  const pace = paceOf(options);
  const order = { command: args.command, hear: said.hear, heardAll };
  const outcomes = await execInAgents(session, agents, order, pace);
  if (outcomes.length === 0) return 0;
  if (clm.format === "table") {
    const undone = outcomes.filter(({ result }) => result !== "ok").map(({ agent }) => fullName(agent));
    summarize(clm, outcomes, `${rerunLine(exec, options, undone, clm)} -- ${sh`${args.command}`}`);
  } else {
    clm.show(
      outcomes.map((outcome) => machine(outcome, said)),
      () => "",
    );
  }
  return Math.max(0, ...outcomes.map(exitOf));
}

/** One agent's answer, as soon as it is whole. */
function block({ ui }: Context, agent: Agent, said: Heard, raw: boolean): void {
  const clean = ui.watched && !raw ? plain : (text: string) => text;
  const [stdout, stderr] = [clean(said.text(agent, "stdout")), clean(said.text(agent, "stderr"))];
  ui.out(`${fullName(agent)}:\n${stdout}${stdout === "" || stdout.endsWith("\n") ? "" : "\n"}`);
  if (stderr === "") return;
  for (const line of stderr.replace(/\n$/, "").split("\n")) ui.say(`${fullName(agent)}: ${line}`);
}

function machine({ agent, result, value, fault }: Outcome<Ended>, said: Heard): object {
  const exit = value ?? (fault && exitIn(fault));
  return {
    ...identityOf(agent),
    result,
    ...(result !== "not-begun" && { code: exit?.code ?? null, ...(exit?.signal && { signal: exit.signal }) }),
    ...(result !== "not-begun" && { stdout: said.text(agent, "stdout"), stderr: said.text(agent, "stderr") }),
    ...(fault && !exit && { error: errorOf(fault) }),
  };
}

function exitOf({ result, value, fault }: Outcome<Ended>): number {
  const exit = value ?? (fault && exitIn(fault));
  if (exit) return codeOf(exit);
  return result === "ok" ? 0 : (fault?.exit ?? faults["check-failed"].exit);
}
