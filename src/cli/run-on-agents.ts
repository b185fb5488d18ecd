import { errorOf, Fault, faults } from "../errors.js";
import { forEachAgent, type Outcome, type Pace } from "../flows/fleet/each.js";
import { createGate, type Gate } from "../flows/gate.js";
import type { Session } from "../flows/session.js";
import { labelsFrom } from "../names.js";
import { quote } from "../quote.js";
import { type Agent, agentsOf, hostAndName } from "../state/agents.js";
import { hostStore } from "../state/hosts.js";
import { selectAgents } from "../state/select-agents.js";
import { isGlob } from "../text/wildcard.js";
import { identityOf } from "./agent-view.js";
import type { Command, Context, OptionValues } from "./command.js";
import { detailsOf, printResult } from "./print-result.js";
import { agentFilters, type batchOptions } from "./shared-options.js";
import { longOption } from "./spelling.js";

type AgentFilters = OptionValues<typeof agentFilters>;
type BatchOptions = OptionValues<typeof batchOptions>;

export function chooseAgents({ configDir }: Context, words: string[], filters: AgentFilters): Agent[] {
  const { all, host, label, type } = filters;
  return selectAgents(hostStore(configDir).read(), { words, hosts: host, labels: labelsFrom(label), type, all });
}

/** For commands whose default is every agent. An empty fleet is not an error. */
export function chooseAgentsOrAll(clm: Context, words: string[], filters: AgentFilters): Agent[] {
  const some = words.length + filters.host.length + filters.label.length > 0 || filters.type !== undefined;
  if (!some && agentsOf(hostStore(clm.configDir).read()).length === 0) return [];
  return chooseAgents(clm, words, { ...filters, all: filters.all || !some });
}

/** One agent by its name. A pattern means several agents, even if it matches only one. */
export const namesOneAgent = (words: string[]): boolean => words.length === 1 && !words.some(isGlob);

export function batchPace({ parallel, maxFail, continue: all }: BatchOptions): Pace {
  if (all && maxFail !== undefined) throw new Fault("usage", "--continue and --max-fail contradict each other");
  return { parallel, maxFail };
}

interface AgentInput {
  args: { names: string[] };
  options: AgentFilters & BatchOptions;
}

export interface AgentVerb<T extends { agent: Agent }> {
  run: (session: Session, ref: string) => Promise<T>;
  /** The result for -o json, without the agent's identity. */
  json: (result: T) => object;
  /** Lines for a person. `subject` begins a sentence; empty with several agents, whose lines begin with their names. */
  lines: (result: T, subject: string) => string[];
  /** Prints tables before the lines; only for one agent. */
  print?: (result: T) => void;
  /** Throws when the result is not good enough; called after everything is printed. */
  verify?: (result: T) => void | Promise<void>;
  /** The question for several agents, such as `This removes 3 agents with their files`. */
  confirm?: (agents: Agent[]) => string;
  /** Default: as the options say. */
  pace?: Pace;
}

export function runOnAgents<T extends { agent: Agent }>(
  command: Command,
  { args: { names }, options }: AgentInput,
  clm: Context,
  verb: AgentVerb<T>,
): Promise<number | undefined> {
  const agents = chooseAgents(clm, names, options);
  const single = namesOneAgent(names) ? agents[0] : undefined;
  return clm.withSession(async (session) => {
    if (!single) return runOnSeveral(command, options, clm, session, agents, verb);
    const result = await verb.run(session, hostAndName(single));
    printResult(clm, result.agent, verb.json(result), () => verb.print?.(result));
    for (const line of verb.lines(result, `${result.agent.name} `)) clm.ui.note(line);
    await verb.verify?.(result);
    return undefined;
  });
}

async function runOnSeveral<T extends { agent: Agent }>(
  command: Command,
  options: AgentInput["options"],
  clm: Context,
  session: Session,
  agents: Agent[],
  { run, json, lines, verify, confirm, pace = batchPace(options) }: AgentVerb<T>,
): Promise<number> {
  const gate = confirm ? await confirmed(clm, session, confirm(agents), agents) : session.gate;
  const outcomes = await forEachAgent({ ...session, gate }, agents, pace, async (within, agent) => {
    try {
      const result = await run(within, hostAndName(agent));
      for (const line of lines(result, "")) within.ui.note(line);
      await verify?.(result);
      return result;
    } catch (error) {
      // At once: the other agents may take a while.
      if (error instanceof Fault) within.ui.warn(`${error.message} [${error.code}]`);
      throw error;
    }
  });
  const undone = outcomes.filter(({ result }) => result !== "ok");
  const again = rerunLine(
    command,
    options,
    undone.map(({ agent }) => hostAndName(agent)),
    clm,
  );
  if (clm.format === "table") summarize(clm, outcomes, again);
  else {
    if (clm.format === "name") clm.ui.out(outcomes.map(({ agent }) => `${agent.ref}\n`).join(""));
    else clm.show(outcomes.map((outcome) => outcomeData(outcome, json)));
    if (undone.length > 0) clm.ui.note(`again: ${again}`);
  }
  clm.signal.throwIfAborted();
  return worstExit(outcomes);
}

/** Asks once for all agents. Typing their number proves that it was read. */
async function confirmed(clm: Context, { gate }: Session, question: string, agents: Agent[]): Promise<Gate> {
  if (clm.yes || clm.dryRun) return gate;
  const answer = await clm.ui.ask({
    message: `${question}: ${agents.map(hostAndName).join(", ")}. Type ${agents.length} to continue:`,
    flag: "--yes",
  });
  if (answer.trim() !== String(agents.length)) throw new Fault("declined", "nothing was changed");
  return createGate({ ...clm, yes: true });
}

export function summarize({ ui }: Context, outcomes: Outcome<unknown>[], again: string): void {
  const count = (result: Outcome<unknown>["result"]) => outcomes.filter((each) => each.result === result).length;
  const [failed, left] = [count("failed"), count("not-begun")];
  const parts = [`${count("ok")} of ${outcomes.length} done`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (left > 0) parts.push(`${left} not begun`);
  ui.note(parts.join(", "));
  for (const { agent, fault } of outcomes) {
    if (!fault) continue;
    ui.say(`  ${hostAndName(agent)}: ${fault.message} [${fault.code}]`);
    for (const line of detailsOf(fault)) ui.say(`    ${line}`);
  }
  if (failed + left > 0) ui.say(`again: ${again}`);
}

const outcomeData = <T extends { agent: Agent }>(
  { agent, result, value, fault }: Outcome<T>,
  json: (result: T) => object,
) => ({
  ...identityOf(value?.agent ?? agent),
  result,
  ...(value && json(value)),
  ...(fault && { error: errorOf(fault) }),
});

const worstExit = (outcomes: Outcome<unknown>[]): number =>
  Math.max(
    0,
    ...outcomes.map(({ result, fault }) => (result === "ok" ? 0 : (fault?.exit ?? faults["check-failed"].exit))),
  );

export function rerunLine(
  { path, options: specs = {} }: Command,
  values: Record<string, unknown>,
  words: string[],
  { yes, dryRun, elsewhere }: Pick<Context, "yes" | "dryRun" | "elsewhere">,
): string {
  const options = Object.entries(specs).flatMap(([key, spec]) => {
    const value = values[key];
    if (key in agentFilters || value === undefined || value === false || value === spec.default) return [];
    if (value === true) return [longOption(key)];
    return [value].flat().flatMap((each) => [longOption(key), quote(String(each))]);
  });
  if (yes) options.push("--yes");
  if (dryRun) options.push("--dry-run");
  if (elsewhere) options.push("--config-dir", quote(elsewhere));
  return ["clm", path, ...words.map(quote), ...options].join(" ");
}
