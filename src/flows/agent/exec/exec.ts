import { type Readable, Transform } from "node:stream";
import { announced, chownPipes, transientUnit, wordsOf } from "../../../agents/plan/transient-unit.js";
import { Fault, isFault } from "../../../errors.js";
import type { Exit } from "../../../remote/process.js";
import { commandFor, newNonce } from "../../../remote/stdin-script.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import type { Host } from "../../../state/hosts.js";
import { lastLines } from "../../../text/last-lines.js";
import { forEachAgent, type Outcome, type Pace } from "../../fleet/each.js";
import { programOf } from "../../gate.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { type AgentTarget, resolve } from "../target.js";
import { type Leash, leashOn, onLeash } from "./exec-leash.js";

export interface ExecOrder {
  /** One word is run by a shell, several are passed on unchanged. */
  command: string[];
  input?: Readable | undefined;
  /** Awaited: a slow reader slows the command down. */
  onOutput: (agent: Agent, stream: "stdout" | "stderr", bytes: Buffer) => Promise<void> | void;
  onEnd?: (agent: Agent) => void;
  properties?: string[];
  /** Milliseconds; unlimited by default. */
  timeout?: number;
}

export interface ExecResult extends Exit {
  agent: Agent;
}

// The shell's convention; the host does not report the signal's number.
const endedBySignal = 128;
export const codeOf = ({ code }: Exit): number => code ?? endedBySignal;

/** Runs a command as each agent's user, with its environment. An exit code other than 0 is a failed outcome. */
export async function execInAgents(
  session: Session,
  agents: readonly Agent[],
  order: ExecOrder,
  pace: Pace,
): Promise<Outcome<ExecResult>[]> {
  hideSecrets(session);
  const names = agents.map(hostAndName);
  const action = {
    verb: "agent exec",
    target: names.join(","),
    summary: `run ${programOf(order.command)} in ${names.join(", ")}`,
  };
  const everywhere = async () => {
    const targets = await Promise.all(
      agents.map(async (agent) => ({ agent, resolved: await resolve(session, agent) })),
    );
    const leashes = new Map<string, Promise<Leash>>();
    const leashHost = async (host: Host) => {
      const there = targets.filter(({ agent }) => agent.host.name === host.name);
      return leashOn(session, await session.pool.connect(host), there);
    };
    const leashFor = ({ host }: Agent) => {
      const made = leashes.get(host.name) ?? leashHost(host);
      leashes.set(host.name, made);
      return made;
    };
    let all: Outcome<ExecResult>[] = [];
    try {
      all = await forEachAgent(session, agents, pace, async (within, agent) => {
        const target = targets[agents.indexOf(agent)];
        if (!target) throw new Error("an agent that was chosen has no target");
        const exit = await leashFor(agent)
          .then((leash) => execIn(within, target, leash, order))
          .finally(() => order.onEnd?.(agent));
        if (exit.code !== 0) throw endedWith(exit);
        return { agent, ...exit };
      });
      session.signal.throwIfAborted();
      return all;
    } finally {
      const known = all.length > 0 && all.every(({ fault }) => !fault || exitIn(fault));
      const made = await Promise.allSettled(leashes.values());
      await Promise.all(
        made.map((each) => (each.status === "fulfilled" ? each.value.end(known ? "done" : "stop") : undefined)),
      );
    }
  };
  const judge = (all: Outcome<ExecResult>[]) => {
    const bad = all.find(({ result }) => result !== "ok");
    if (!bad) return { result: "ok" as const };
    return { result: "failed" as const, ...(bad.fault && !exitIn(bad.fault) && { fault: bad.fault.code }) };
  };
  return (await session.gate.pass(action, everywhere, judge)) ?? [];
}

/** Runs one command in one agent. */
export const execOnLeash = (session: Session, target: AgentTarget, order: ExecOrder): Promise<Exit> =>
  onLeash(session, target, (leash) => execIn(session, target, leash, order));

async function execIn(session: Session, target: AgentTarget, leash: Leash, order: ExecOrder): Promise<Exit> {
  const { agent, resolved } = target;
  const env = leash.hasEnv(target);
  const connection = await session.pool.connect(agent.host);
  const proof = newNonce();
  const run = transientUnit({
    resolved,
    unit: leash.unit(),
    sign: leash.sign,
    env,
    ...(order.properties && { properties: order.properties }),
    streams: "pipe",
    words: announced(proof, wordsOf(order.command)),
  });
  const script = `${chownPipes(resolved.user)}\n${run}\n`;
  const late = order.timeout === undefined ? [] : [AbortSignal.timeout(order.timeout)];
  const signal = AbortSignal.any([session.signal, ...late]);
  // The command goes on stdin: sudo writes its arguments into the host's log.
  const process = await connection.as("root").spawn(commandFor(script), { signal });
  process.stdin.write(script);
  if (order.input) order.input.pipe(process.stdin);
  else process.stdin.end();
  const stderr = afterLine(process.stderr, proof);
  try {
    await Promise.all([
      listen(process.stdout, (bytes) => order.onOutput(agent, "stdout", bytes)),
      listen(stderr.rest, (bytes) => order.onOutput(agent, "stderr", bytes)),
    ]);
    const exit = await process.done;
    session.signal.throwIfAborted();
    if (signal.aborted) throw tooLate(target, order.timeout);
    leash.mustHold();
    if (!stderr.begun()) throw neverBegan(target, exit, stderr.before());
    return exit;
  } finally {
    // After the command has ended, its input has no reader.
    order.input?.unpipe(process.stdin).pause();
  }
}

async function listen(stream: Readable, hear: (bytes: Buffer) => Promise<void> | void): Promise<void> {
  try {
    for await (const chunk of stream) await hear(chunk as Buffer);
  } catch (error) {
    // A broken stream counts as ended; `done` has the reason.
    if (isFault(error)) throw error;
  }
}

const enough = 64 * 1024;

/** Passes on everything after `line`; output before it comes from sudo or systemd-run. */
export function afterLine(stream: Readable, line: string) {
  const wanted = Buffer.from(`${line}\n`);
  let head: Buffer = Buffer.alloc(0);
  let begun = false;
  const rest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (begun) return done(null, chunk);
      head = Buffer.concat([head, chunk]).subarray(-enough);
      const at = head.indexOf(wanted);
      if (at < 0) return done();
      begun = true;
      const after = head.subarray(at + wanted.length);
      head = head.subarray(0, at);
      done(null, after);
    },
  });
  stream.pipe(rest);
  return { rest, begun: () => begun, before: () => head.toString("utf8").trim() };
}

const endedWith = ({ code, signal }: Exit): Fault =>
  new Fault("remote-failed", `ended with ${code ?? signal ?? "a signal"}`, { data: { exit: { code, signal } } });

/** Of a command that ran and failed, which is not an error of clm. */
export const exitIn = (fault: Fault | undefined): Exit | undefined => fault?.data.exit as Exit | undefined;

function tooLate({ agent: { host }, resolved }: AgentTarget, timeout = 0): Fault {
  const what = `the command as ${resolved.user} on ${host.name} did not end within ${timeout / 1000} s`;
  return new Fault("remote-timeout", what, { next: `clm host check ${host.name}` });
}

const neverBegan = ({ agent, resolved }: AgentTarget, { code }: Exit, said: string): Fault =>
  new Fault("remote-failed", `could not run a command as ${resolved.user} on ${agent.host.name}`, {
    why: lastLines(said, 3, `systemd-run ended with ${code}`),
    next: `clm host check ${agent.host.name}`,
  });
