import type { Readable } from "node:stream";
import { givingPipesTo, proving, transientUnit, wordsOf } from "../../../agents/transient-unit.js";
import { Fault, isFault } from "../../../errors.js";
import { commandFor, newNonce } from "../../../remote/operations/conversation.js";
import type { Exit } from "../../../remote/process.js";
import { type Agent, fullName } from "../../../state/agents.js";
import { forEachAgent, type Outcome, type Pace } from "../../fleet/each.js";
import { programOf } from "../../gate.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { type Target, targetOf } from "../target.js";
import { afterLine } from "./beginning.js";
import { type Leash, leashOn } from "./leash.js";

export interface Order {
  /** One word is read by the host's shell, several are passed on as they are. */
  command: string[];
  /** What the command reads. */
  input?: Readable | undefined;
  /** Waited for: who cannot take more for now slows the command down. */
  hear: (agent: Agent, stream: "stdout" | "stderr", bytes: Buffer) => Promise<void> | void;
  /** Nothing more comes from this one. */
  heardAll?: (agent: Agent) => void;
  /** More properties of the unit it runs in. */
  properties?: string[];
  /** Milliseconds; without it the command may run for ever. */
  timeout?: number;
}

/** How a command ended in one agent. */
export interface Ended extends Exit {
  agent: Agent;
}

// As a shell says it, where the host does not tell the number.
const endedBySignal = 128;

export const codeOf = ({ code }: Exit): number => code ?? endedBySignal;

/** Exec: one command with the rights and the environment of each agent. A command that ends badly is an outcome that failed. */
export async function execInAgents(
  session: Session,
  agents: readonly Agent[],
  order: Order,
  pace: Pace,
): Promise<Outcome<Ended>[]> {
  hideSecrets(session);
  const names = agents.map(fullName);
  const deed = {
    verb: "agent exec",
    target: names.join(","),
    summary: `run ${programOf(order.command)} in ${names.join(", ")}`,
  };
  const everywhere = async () => {
    const targets = await Promise.all(
      agents.map(async (agent, at) => ({ ...(await targetOf(session, names[at] ?? "")), agent })),
    );
    const leashes = new Map<string, Promise<Leash>>();
    const leashFor = ({ agent: { host } }: Target) => {
      const made = leashes.get(host.name) ?? leashHost(session, targets, host.name);
      leashes.set(host.name, made);
      return made;
    };
    let all: Outcome<Ended>[] = [];
    try {
      all = await forEachAgent(session, agents, pace, async (within, agent) => {
        const target = targets[agents.indexOf(agent)];
        if (!target) throw new Error("an agent that was chosen has no target");
        const exit = await leashFor(target)
          .then((leash) => execIn(within, target, leash, order))
          .finally(() => order.heardAll?.(agent));
        if (exit.code !== 0) throw endedWith(exit);
        return { agent, ...exit };
      });
      session.signal.throwIfAborted();
      return all;
    } finally {
      const known = all.length > 0 && all.every(({ fault }) => !fault || isExit(fault));
      const made = await Promise.allSettled(leashes.values());
      await Promise.all(
        made.map((each) => (each.status === "fulfilled" ? each.value.end(known ? "done" : "stop") : undefined)),
      );
    }
  };
  const judge = (all: Outcome<Ended>[]) => {
    const bad = all.find(({ result }) => result !== "ok");
    if (!bad) return { result: "ok" as const };
    return { result: "failed" as const, ...(bad.fault && !isExit(bad.fault) && { fault: bad.fault.code }) };
  };
  return (await session.gate.pass(deed, everywhere, judge)) ?? [];
}

async function leashHost(session: Session, targets: Target[], host: string): Promise<Leash> {
  const there = targets.filter(({ agent }) => agent.host.name === host);
  const [first] = there;
  if (!first) throw new Error("no agent of this host was chosen");
  return leashOn(session, await session.pool.connect(first.agent.host), there);
}

/** One command in one agent, on a leash that is there already. */
export async function execIn(session: Session, target: Target, leash: Leash, order: Order): Promise<Exit> {
  const { agent, subject } = target;
  const env = leash.hasEnv(target);
  const connection = await session.pool.connect(agent.host);
  const proof = newNonce();
  const words = proving(proof, wordsOf(order.command));
  const unit = {
    subject,
    unit: leash.unit(),
    sign: leash.sign,
    env,
    ...(order.properties && { properties: order.properties }),
  };
  const run = transientUnit({ ...unit, streams: "pipe", words });
  const script = `${givingPipesTo(subject.user)}\n${run}\n`;
  // The words are the first bytes of stdin and no argument of sudo's, which writes those into the host's log.
  const late = order.timeout === undefined ? [] : [AbortSignal.timeout(order.timeout)];
  const signal = AbortSignal.any([session.signal, ...late]);
  const process = await connection.as("root").spawn(commandFor(script), { signal });
  process.stdin.write(script);
  const letGoOfInput = feed(order.input, process.stdin);
  const stderr = afterLine(process.stderr, proof);
  try {
    await Promise.all([
      listen(process.stdout, (bytes) => order.hear(agent, "stdout", bytes)),
      listen(stderr.rest, (bytes) => order.hear(agent, "stderr", bytes)),
    ]);
    const exit = await process.done;
    session.signal.throwIfAborted();
    if (signal.aborted) throw tooLate(target, order.timeout);
    leash.mustHold();
    if (!stderr.begun()) throw neverBegan(target, exit, stderr.before());
    return exit;
  } finally {
    letGoOfInput();
  }
}

function feed(input: Readable | undefined, stdin: NodeJS.WritableStream): () => void {
  if (!input) {
    stdin.end();
    return () => {};
  }
  input.pipe(stdin);
  // Nobody reads what comes after the command has ended.
  return () => {
    input.unpipe(stdin);
    input.pause();
  };
}

async function listen(stream: Readable, hear: (bytes: Buffer) => Promise<void> | void): Promise<void> {
  try {
    for await (const chunk of stream) await hear(chunk as Buffer);
  } catch (error) {
    // A stream that breaks is a stream that ends; `done` knows why.
    if (isFault(error)) throw error;
  }
}

const endedWith = ({ code, signal }: Exit): Fault =>
  new Fault("remote-failed", `ended with ${code ?? signal ?? "a signal"}`, { data: { exit: { code, signal } } });

/** The command ran and ended badly, which is its own affair and no trouble of ours. */
export const isExit = (fault: Fault): boolean => fault.data.exit !== undefined;

/** How it ended, when that is what the fault says. */
export const exitIn = (fault: Fault): Exit | undefined => fault.data.exit as Exit | undefined;

const tooLate = ({ agent: { host }, subject }: Target, timeout = 0): Fault =>
  new Fault(
    "remote-timeout",
    `what was run as ${subject.user} on ${host.name} did not end within ${timeout / 1000} s`,
    {
      next: `clm host check ${host.name}`,
    },
  );

const neverBegan = ({ agent, subject }: Target, { code }: Exit, said: string): Fault =>
  new Fault("remote-failed", `nothing could be run as ${subject.user} on ${agent.host.name}`, {
    why: said ? said.split("\n").slice(-3) : `systemd-run there ended with ${code}`,
    next: `clm host check ${agent.host.name}`,
  });
