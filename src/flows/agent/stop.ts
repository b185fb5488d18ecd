import { type Change, changesOf } from "../../agents/plan/change.js";
import type { StatusObservation } from "../../agents/probe/status/observation.js";
import { sh } from "../../quote.js";
import { converge } from "../../remote/operations/converge.js";
import { run, unit } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import { run as ask } from "../../remote/run.js";
import { type Agent, agentId, findAgent, hostAndName } from "../../state/agents.js";
import type { Session } from "../session.js";
import { step } from "../step.js";
import { withLockedAgent } from "./agent-lock.js";
import { changeRecord, withDown } from "./configure/record.js";
import { kill, whileItEnds } from "./ending.js";
import { endOfStrays, straysOf } from "./strays.js";

export interface StopOptions {
  /** Do not wait for running model calls. */
  now: boolean;
  /** Also end processes of its user outside its unit. */
  strays: boolean;
}

export interface Stopped {
  agent: Agent;
  /** Processes of its user that run on outside its unit. */
  strays: StatusObservation["strays"];
  /** None when it was down and disabled before, and nothing was left of how it ended. */
  changes: Change[];
}

/** Stop: the unit is down and does not come up at boot, and that is how it should be. Nothing of the agent's is touched. */
export function stopAgent(session: Session, word: string, options: StopOptions): Promise<Stopped> {
  return withLockedAgent(session, word, (agent) => stop(session, hostAndName(agent), options));
}

async function stop(session: Session, word: string, options: StopOptions): Promise<Stopped> {
  const { ui, gate, signal } = session;
  const agent = findAgent(session.hosts.read(), word);
  const name = agent.record.unit;
  const root = (await session.pool.connect(agent.host)).as("root");
  const down = unit(name, { enabled: false, state: "stopped" });
  const looked = changesOf(await converge(root, [down], { mode: "check", signal }));
  const changes = looked.length === 0 && (await hasFailed(root, name, signal)) ? [forgotten(down.id)] : looked;
  const before = options.strays ? await straysOf(session, root, agent) : none;
  // Also when none was seen: one that forks on and on is gone before it can be looked at.
  const ending = options.strays ? [await endOfStrays(session, agent)] : [];
  if (before.count > 0) changes.push(strayChange(agent, before));
  if (changes.length === 0 && ending.length === 0 && agent.record.down)
    return { agent, changes, strays: await straysOf(session, root, agent) };

  const action = { verb: "agent stop", target: word, summary: `stop ${agentId(agent)}` };
  // One that ended with SIGTERM's exit 1 reads "failed": it was stopped, and nothing is wrong with it.
  const calm = run({
    title: `forget how ${name} ended`,
    script: sh`systemctl reset-failed ${name} 2>/dev/null || true`,
  });
  const record = await gate.pass(action, async (executor) => {
    const meant = await changeRecord(session, agent, (record) => withDown(record, true));
    const ends = () => whileItEnds(session, { root, agent }, () => executor.converge(root, [down, calm, ...ending]));
    if (options.now && changes.length > 0) await kill(session, { root, agent });
    if (changes.length + ending.length > 0) await step(ui, `stop ${name}`, ends);
    return meant;
  });
  const strays = gate.dryRun && options.strays ? before : await straysOf(session, root, agent);
  return { agent: { ...agent, record: record ?? agent.record }, changes, strays };
}

const none: StatusObservation["strays"] = { count: 0, first: [] };

const strayChange = ({ record: { user } }: Agent, { count }: StatusObservation["strays"]): Change => ({
  what: `processes of ${user} outside its unit`,
  differences: [`${count} -> none`],
});

/** It ended by itself, and systemd keeps that in mind. */
async function hasFailed(root: Shell, name: string, signal: AbortSignal): Promise<boolean> {
  return (await ask(root, sh`systemctl is-failed --quiet ${name}`, { signal })).code === 0;
}

const forgotten = (what: string): Change => ({ what, differences: ["failed -> stopped"] });
