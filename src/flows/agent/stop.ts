import { sh } from "../../quote.js";
import { converge } from "../../remote/operations/converge.js";
import { run, unit } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import { run as ask } from "../../remote/run.js";
import { type Agent, findAgent, titleOf } from "../../state/agents.js";
import type { Session } from "../session.js";
import { step } from "../step.js";
import { aloneWith } from "./alone.js";
import { type Change, changesOf } from "./change.js";
import { changeRecord, withDown } from "./configure/record.js";

export interface Stopped {
  agent: Agent;
  /** None when it was down and disabled before, and nothing was left of how it ended. */
  changes: Change[];
}

/** Stop: the unit is down and does not come up at boot, and that is how it should be. Nothing of the agent's is touched. */
export function stopAgent(session: Session, word: string): Promise<Stopped> {
  return aloneWith(session, word, (full) => stop(session, full));
}

async function stop(session: Session, word: string): Promise<Stopped> {
  const { ui, gate, signal } = session;
  const agent = findAgent(session.hosts.read(), word);
  const name = agent.record.unit;
  const root = (await session.pool.connect(agent.host)).as("root");
  const down = unit(name, { enabled: false, state: "stopped" });
  const looked = changesOf(await converge(root, [down], { mode: "check", signal }));
  const changes = looked.length === 0 && (await hasFailed(root, name, signal)) ? [forgotten(down.id)] : looked;
  if (changes.length === 0 && agent.record.down) return { agent, changes };

  const deed = { verb: "agent stop", target: word, summary: `stop ${titleOf(agent)}` };
  // One that ended with SIGTERM's exit 1 reads "failed": it was stopped, and nothing is wrong with it.
  const calm = run({
    title: `forget how ${name} ended`,
    script: sh`systemctl reset-failed ${name} 2>/dev/null || true`,
  });
  const record = await gate.pass(deed, async (works) => {
    const meant = await changeRecord(session, agent, (now) => withDown(now, true));
    if (changes.length > 0) await step(ui, `stop ${name}`, () => works.converge(root, [down, calm]));
    return meant;
  });
  return { agent: { ...agent, record: record ?? agent.record }, changes };
}

/** It ended by itself, and systemd keeps that in mind. */
async function hasFailed(root: Shell, name: string, signal: AbortSignal): Promise<boolean> {
  return (await ask(root, sh`systemctl is-failed --quiet ${name}`, { signal })).code === 0;
}

const forgotten = (what: string): Change => ({ what, differences: ["failed -> stopped"] });
