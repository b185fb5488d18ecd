import { setTimeout as sleep } from "node:timers/promises";
import { type Change, change, changesOf } from "../../agents/plan/change.js";
import type { StatusObservation } from "../../agents/probe/status/observation.js";
import { sh } from "../../quote.js";
import { converge } from "../../remote/operations/converge.js";
import { run as runOperation, unit } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import { run } from "../../remote/run.js";
import { type Agent, agentId, hostAndName } from "../../state/agents.js";
import { flow } from "../flow.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import { setDown } from "./agent-record.js";
import { endStrays, straysOf } from "./strays.js";

export interface StopOptions {
  /** Do not wait for running model calls. */
  now: boolean;
  /** Also end processes of its user outside its unit. */
  strays: boolean;
}

export interface StopResult {
  agent: Agent;
  strays: Strays;
  /** None when it was stopped, disabled and not failed before. */
  changes: Change[];
}

type Strays = StatusObservation["strays"];

/** The unit stays down at boot. No file of the agent is touched. */
export const stopAgent = (session: Session, ref: string, options: StopOptions): Promise<StopResult> =>
  withLockedAgent(session, ref, async (agent) => {
    const name = agent.record.unit;
    const root = (await session.pool.connect(agent.host)).as("root");
    const stopped = unit(name, { enabled: false, state: "stopped" });
    const before: Strays = options.strays ? await straysOf(session, root, agent) : { count: 0, first: [] };
    // Even when there are none: a process that forks all the time is gone before it can be listed.
    const ending = options.strays ? [await endStrays(session, agent)] : [];
    const changes = [...(await unitChanges(session, root, stopped)), ...strayChanges(agent, before)];

    const action = { verb: "agent stop", target: hostAndName(agent), summary: `stop ${agentId(agent)}` };
    return flow(session, action, async ({ change, record }) => {
      const wasDown = agent.record.down === true && changes.length + ending.length === 0;
      const recorded = wasDown
        ? undefined
        : await record("the agent should be stopped", () => setDown(session, agent, true));
      if (options.now && changes.length > 0) await change(`kill ${name}`, () => killUnit(session, root, name));
      const operations = [stopped, notFailed(name), ...ending];
      if (changes.length + ending.length > 0)
        await withStopNotice(session, root, agent, () => change(`stop ${name}`, { root, operations }));
      const strays = session.gate.dryRun && options.strays ? before : await straysOf(session, root, agent);
      return { agent: { ...agent, record: recorded ?? agent.record }, changes, strays };
    });
  });

/** A unit that failed is down already, but systemd still lists it as failed. */
async function unitChanges({ signal }: Session, root: Shell, stopped: ReturnType<typeof unit>): Promise<Change[]> {
  const changes = changesOf(await converge(root, [stopped], { mode: "check", signal }));
  if (changes.length > 0) return changes;
  const { code } = await run(root, sh`systemctl is-failed --quiet ${stopped.name}`, { signal });
  return code === 0 ? [change(stopped.id, "failed -> stopped")] : [];
}

const strayChanges = ({ record: { user } }: Agent, { count }: Strays): Change[] =>
  count > 0 ? [change(`processes of ${user} outside its unit`, `${count} -> none`)] : [];

/** An agent that ends with exit 1 on SIGTERM is "failed" to systemd, though nothing is wrong with it. */
const notFailed = (name: string) =>
  runOperation({
    title: `reset the failed state of ${name}`,
    script: sh`systemctl reset-failed ${name} 2>/dev/null || true`,
  });

/**
 * `stop` comes first, so that systemd does not start the unit again. The agent's data survives: SQLite rolls back, and
 * files are replaced by rename. Not an operation: those wait for each other, and a stop left by Ctrl-C still waits.
 */
export async function killUnit({ signal }: Session, root: Shell, name: string): Promise<void> {
  const script = sh`systemctl stop --no-block -- ${name}; systemctl kill --signal=SIGKILL -- ${name}`;
  await run(root, script, { timeout: 30_000, signal });
}

/** Milliseconds that an agent without a running model call takes to end. */
const usualStopTime = 5000;

export async function withStopNotice<T>(
  { ui, signal }: Session,
  root: Shell,
  { name, ref, record }: Agent,
  work: () => Promise<T>,
): Promise<T> {
  const script = sh`systemctl show --property TimeoutStopUSec --value -- ${record.unit}`;
  const limit = (await run(root, script, { timeout: 30_000, signal })).stdout.trim() || "some minutes";
  const done = new AbortController();
  const notice = sleep(usualStopTime, undefined, { signal: AbortSignal.any([signal, done.signal]) }).then(
    () =>
      ui.note(
        `${name} finishes the model calls that are running before it ends, for up to ${limit}; ` +
          `to end it at once: Ctrl-C, then clm agent stop ${ref} --now`,
      ),
    () => {},
  );
  try {
    return await work();
  } finally {
    done.abort();
    await notice;
  }
}
