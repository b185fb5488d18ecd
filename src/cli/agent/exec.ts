import { errorOf, faults } from "../../errors.js";
import { codeOf, type ExecOrder, type ExecResult, execInAgents, exitIn } from "../../flows/agent/exec/exec.js";
import type { Outcome } from "../../flows/fleet/each.js";
import { cleanCut } from "../../flows/hide-secrets.js";
import { keepOutput } from "../../flows/host/exec.js";
import type { Session } from "../../flows/session.js";
import { sh } from "../../quote.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { identityOf } from "../agent-view.js";
import type { Context, Handler, Input } from "../command.js";
import { printOutput } from "../print-result.js";
import { batchPace, chooseAgents, namesOneAgent, rerunLine, summarize } from "../run-on-agents.js";
import { exec } from "./commands.js";

type ExecInput = Input<NonNullable<typeof exec.args>, NonNullable<typeof exec.options>>;

export const run: Handler<typeof exec> = async (input, clm) => {
  const { names } = input.args;
  const agents = chooseAgents(clm, names, input.options);
  const lone = namesOneAgent(names) ? agents[0] : undefined;
  return clm.withSession((session) => (lone ? inOne(session, clm, lone, input) : inMany(session, clm, agents, input)));
};

/** Like a local command: its streams and its exit code become ours. */
async function inOne(session: Session, clm: Context, agent: Agent, { args, options }: ExecInput) {
  const stdin = clm.stdin();
  const output = new ExecOutput(cleanCut(session));
  const onOutput: ExecOrder["onOutput"] =
    clm.format === "table"
      ? (_, stream, bytes) => clm.ui.pass(stream, bytes, { raw: options.raw })
      : (of, stream, bytes) => output.add(of, stream, bytes);
  const order = { command: args.command, input: stdin.isTTY ? undefined : stdin, onOutput };
  const [outcome] = await execInAgents(session, [agent], order, { parallel: 1 });
  if (!outcome) return undefined;
  // The command did not run, or its output is incomplete.
  if (outcome.fault && !exitIn(outcome.fault)) throw outcome.fault;
  if (clm.format !== "table") clm.show(machine(outcome, output));
  return exitOf(outcome);
}

async function inMany(session: Session, clm: Context, agents: Agent[], { args, options }: ExecInput): Promise<number> {
  const output = new ExecOutput(cleanCut(session));
  const order: ExecOrder = {
    command: args.command,
    onOutput: (agent, stream, bytes) => output.add(agent, stream, bytes),
    onEnd: (agent) => {
      if (clm.format === "table") printOutput(clm, hostAndName(agent), output.of(agent), options.raw);
    },
  };
  const outcomes = await execInAgents(session, agents, order, batchPace(options));
  if (outcomes.length === 0) return 0;
  if (clm.format === "table") {
    const undone = outcomes.filter(({ result }) => result !== "ok").map(({ agent }) => hostAndName(agent));
    summarize(clm, outcomes, `${rerunLine(exec, options, undone, clm)} -- ${sh`${args.command}`}`);
  } else {
    clm.show(outcomes.map((outcome) => machine(outcome, output)));
  }
  return Math.max(0, ...outcomes.map(exitOf));
}

function machine({ agent, result, value, fault }: Outcome<ExecResult>, output: ExecOutput): object {
  const exit = value ?? exitIn(fault);
  return {
    ...identityOf(agent),
    result,
    ...(result !== "not-begun" && { code: exit?.code ?? null, ...(exit?.signal && { signal: exit.signal }) }),
    ...(result !== "not-begun" && output.of(agent)),
    ...(fault && !exit && { error: errorOf(fault) }),
  };
}

function exitOf({ result, value, fault }: Outcome<ExecResult>): number {
  const exit = value ?? exitIn(fault);
  if (exit) return codeOf(exit);
  return result === "ok" ? 0 : (fault?.exit ?? faults["check-failed"].exit);
}

type Stream = "stdout" | "stderr";

/** The output of a command in each of several agents, collected until it is complete. */
export class ExecOutput {
  readonly #streams = new Map<Agent, Record<Stream, ReturnType<typeof keepOutput>>>();

  /** `clean` removes what a truncated text may hold of a secret. */
  constructor(
    private readonly clean: (text: string, cut: boolean) => string,
    private readonly maxBytes?: number,
  ) {}

  add(agent: Agent, stream: Stream, bytes: Buffer): void {
    const make = () => keepOutput(this.clean, this.maxBytes);
    const streams = this.#streams.get(agent) ?? { stdout: make(), stderr: make() };
    this.#streams.set(agent, streams);
    streams[stream].add(bytes);
  }

  of(agent: Agent): Record<Stream, string> {
    const kept = this.#streams.get(agent);
    return { stdout: kept?.stdout.text() ?? "", stderr: kept?.stderr.text() ?? "" };
  }
}
