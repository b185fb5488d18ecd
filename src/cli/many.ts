import { errorOf, Fault, faults } from "../errors.js";
import { forEachAgent, type Outcome, type Pace } from "../flows/fleet/each.js";
import { createGate, type Gate } from "../flows/gate.js";
import { type Session, withSession } from "../flows/session.js";
import { labelsFrom } from "../names.js";
import { quote } from "../quote.js";
import { type Agent, agentsOf, hostAndName } from "../state/agents.js";
import { hostStore } from "../state/hosts.js";
import { selectAgents } from "../state/select-agents.js";
import { isGlob } from "../text/wildcard.js";
import { tell } from "./agent/tell.js";
import { identityOf } from "./agent/view.js";
import type { Command, Context, Input } from "./command.js";
import { choosing, type pacing } from "./recurring.js";
import { longOption } from "./spelling.js";

type Values<S extends Command["options"]> = Input<Record<never, never>, S>["options"];
type Choosing = Values<typeof choosing>;
type Pacing = Values<typeof pacing>;

/** The agents a command line is about. */
export function chooseAgents({ configDir }: Context, words: string[], { all, host, label, type }: Choosing): Agent[] {
  return selectAgents(hostStore(configDir).read(), { words, hosts: host, labels: labelsFrom(label), type, all });
}

/** The same for a command that is about the whole fleet unless it is told otherwise. An empty one is no error. */
export function chooseAgentsOrAll(clm: Context, words: string[], options: Choosing): Agent[] {
  const some = words.length + options.host.length + options.label.length > 0 || options.type !== undefined;
  if (!some && agentsOf(hostStore(clm.configDir).read()).length === 0) return [];
  return chooseAgents(clm, words, { ...options, all: options.all || !some });
}

/** One agent was named, and not a pattern that may mean more: it is told of as if there were no others. */
export const isLone = (words: string[]): boolean => words.length === 1 && !words.some(isGlob);

export function paceOf({ parallel, maxFail, continue: continueOnError }: Pacing): Pace {
  if (continueOnError && maxFail !== undefined)
    throw new Fault("usage", "--continue and --max-fail contradict each other");
  return { parallel, maxFail };
}

/** Something that can be done to many agents. */
export interface Verb<T extends { agent: Agent }> {
  command: Command;
  words: string[];
  options: Choosing & Pacing & { sudoPasswordFile?: string | undefined };
  work: (session: Session, word: string) => Promise<T>;
  /** What a program reads, beside who the agent is. */
  data: (done: T) => object;
  /** Throws when what was done is not good enough. Of one agent all is told before. */
  judge?: (done: T) => Promise<void>;
  /** Lines for a person. `who` begins one that is about the agent: its name, or nothing where the line has it already. */
  told: (done: T, who: string) => string[];
  /** More lines for a person, when it is about several and there are no tables. */
  brief?: (done: T) => string[];
  /** More for a person, when it is about one agent. */
  tables?: (done: T) => void;
  /** Words that follow the agents on the command line. */
  after?: string[];
  /** How several are gone through, when not as usual. */
  pace?: Pace;
  /** What several lose for good, as in `This removes 3 agents with their files`: asked once for all of them. */
  loss?: (agents: Agent[]) => string;
}

/** Does it to the agents that were named: to one as if there were no others, to several at once. */
export function onAgents<T extends { agent: Agent }>(clm: Context, verb: Verb<T>): Promise<number | undefined> {
  const { words, options, work, data, told, judge = async () => {}, tables = () => {} } = verb;
  const agents = chooseAgents(clm, words, options);
  const [first] = agents;
  const lone = isLone(words) ? first : undefined;
  return withSession({ ...clm, sudoPasswordFile: options.sudoPasswordFile }, async (session) => {
    if (!lone) return onMany(clm, session, agents, verb);
    const done = await work(session, hostAndName(lone));
    tell(clm, done.agent, data(done), () => tables(done));
    await judge(done);
    for (const line of told(done, `${done.agent.name} `)) clm.ui.note(line);
    return undefined;
  });
}

async function onMany<T extends { agent: Agent }>(
  clm: Context,
  session: Session,
  agents: Agent[],
  {
    command,
    options,
    work,
    data,
    told,
    judge = async () => {},
    brief = () => [],
    loss,
    after = [],
    pace = paceOf(options),
  }: Verb<T>,
): Promise<number> {
  const gate = loss ? await agreed(clm, session, loss(agents), agents) : session.gate;
  const outcomes = await forEachAgent({ ...session, gate }, agents, pace, async (within, agent) => {
    try {
      const done = await work(within, hostAndName(agent));
      for (const line of brief(done)) within.ui.note(line);
      await judge(done);
      for (const line of told(done, "")) within.ui.note(line);
      return done;
    } catch (error) {
      // Told as it happens: the others may take a while.
      if (error instanceof Fault) within.ui.warn(`${error.message} [${error.code}]`);
      throw error;
    }
  });
  const undone = outcomes.filter(({ result }) => result !== "ok");
  const again = rerunLine(command, options, [...undone.map(({ agent }) => hostAndName(agent)), ...after], clm);
  if (clm.format === "table") summarize(clm, outcomes, again);
  else if (clm.format === "name") clm.ui.out(outcomes.map(({ agent }) => `${agent.ref}\n`).join(""));
  else
    clm.show(
      outcomes.map((outcome) => machine(outcome, data)),
      () => "",
    );
  if (clm.format !== "table" && undone.length > 0) clm.ui.note(`again: ${again}`);
  clm.signal.throwIfAborted();
  return worst(outcomes);
}

/** Asked once, and answered with how many there are: that is read before it is typed. */
async function agreed(clm: Context, { gate }: Session, loss: string, agents: Agent[]): Promise<Gate> {
  if (clm.yes || clm.dryRun) return gate;
  const answer = await clm.ui.ask({
    message: `${loss}: ${agents.map(hostAndName).join(", ")}. Type ${agents.length} to go on:`,
    flag: "--yes",
  });
  if (answer.trim() !== String(agents.length)) throw new Fault("declined", "nothing was changed");
  return createGate({ ...clm, yes: true });
}

/** How many there are of each end, what went wrong, and what to type for those. */
export function summarize({ ui }: Context, outcomes: Outcome<unknown>[], again: string): void {
  const count = (result: Outcome<unknown>["result"]) => outcomes.filter((each) => each.result === result).length;
  const [failed, left] = [count("failed"), count("not-begun")];
  ui.note(
    [
      `${count("ok")} of ${outcomes.length} done`,
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(left > 0 ? [`${left} not begun`] : []),
    ].join(", "),
  );
  for (const { agent, fault } of outcomes) {
    if (!fault) continue;
    ui.say(`  ${hostAndName(agent)}: ${fault.message} [${fault.code}]`);
    for (const line of [...fault.why, ...fault.next.map((next) => `next: ${next}`)]) ui.say(`    ${line}`);
  }
  if (failed + left > 0) ui.say(`again: ${again}`);
}

function machine<T extends { agent: Agent }>({ agent, result, value, fault }: Outcome<T>, data: (done: T) => object) {
  return {
    ...identityOf(value?.agent ?? agent),
    result,
    ...(value && data(value)),
    ...(fault && { error: errorOf(fault) }),
  };
}

const worst = (outcomes: Outcome<unknown>[]): number =>
  Math.max(
    0,
    ...outcomes.map(({ result, fault }) => (result === "ok" ? 0 : (fault?.exit ?? faults["check-failed"].exit))),
  );

/** The command that does it again for these agents alone, with all that was said but how they were chosen. */
export function rerunLine(
  { path, options: specs = {} }: Command,
  given: Record<string, unknown>,
  words: string[],
  { yes, dryRun, elsewhere }: Pick<Context, "yes" | "dryRun" | "elsewhere">,
): string {
  const said = Object.entries(specs).flatMap(([key, spec]) => {
    const value = given[key];
    if (key in choosing || value === undefined || value === false || value === spec.default) return [];
    if (value === true) return [longOption(key)];
    return [value].flat().flatMap((each) => [longOption(key), quote(String(each))]);
  });
  return [
    "clm",
    path,
    ...words.map(quote),
    ...said,
    ...(yes ? ["--yes"] : []),
    ...(dryRun ? ["--dry-run"] : []),
    ...(elsewhere ? ["--config-dir", quote(elsewhere)] : []),
  ].join(" ");
}
