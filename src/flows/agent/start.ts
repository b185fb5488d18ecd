import { type Change, changesOf } from "../../agents/plan/change.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import type { Proof } from "../../agents/probe/proof/proof.js";
import { unit } from "../../remote/operations/operation.js";
import { type Agent, agentId, hostAndName } from "../../state/agents.js";
import { check, flow, type Phases } from "../flow.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import { changeRecord, setDown, withState } from "./agent-record.js";
import { mustBeInstalled, mustBeReady, mustBeRunnable, mustHold, requiredWithForce } from "./preconditions.js";
import { proveAndObserve } from "./prove.js";
import { killUnit, withStopNotice } from "./stop.js";

export interface StartOptions {
  /** Also when onboarding is not complete. */
  force: boolean;
}

export interface StartResult {
  agent: Agent;
  /** None when it was running and enabled before. */
  changes: Change[];
  /** None in a dry run. */
  proofs: Proof[];
}

/** Also proves that the process on its port is this agent. */
export const startAgent = (session: Session, ref: string, { force }: StartOptions): Promise<StartResult> =>
  withLockedAgent(session, ref, async (agent) => {
    const { root, observation } = await mustBeStartable(session, agent, "start", force);
    const action = { verb: "agent start", target: hostAndName(agent), summary: `start ${agentId(agent)}` };
    return flow(session, action, async (phases) => {
      const { change, record } = phases;
      const { unit: name, down } = agent.record;
      if (down) await record("the agent should run", () => setDown(session, agent, false));
      const operations = [unit(name, { enabled: true, state: "started" })];
      const changes = isUp(observation) ? [] : changesOf(await change(`start ${name}`, { root, operations }));
      return { agent, changes, proofs: await mustAnswer(phases, session, agent, { verb: "start", force }) };
    });
  });

export interface RestartOptions extends StartOptions {
  /** Do not wait for running model calls. */
  now: boolean;
}

/** Everything is checked before the stop, so that an agent that could not start again keeps running. */
export const restartAgent = (session: Session, ref: string, { force, now }: RestartOptions): Promise<StartResult> =>
  withLockedAgent(session, ref, async (agent) => {
    const { root } = await mustBeStartable(session, agent, "restart", force);
    const action = { verb: "agent restart", target: hostAndName(agent), summary: `restart ${agentId(agent)}` };
    return flow(session, action, async (phases) => {
      const { change, record } = phases;
      const { unit: name, down } = agent.record;
      if (down) await record("the agent should run", () => setDown(session, agent, false));
      if (now) await change(`kill ${name}`, () => killUnit(session, root, name));
      const operations = [unit(name, { enabled: true, state: "restarted" })];
      const report = await withStopNotice(session, root, agent, () => change(`restart ${name}`, { root, operations }));
      const proofs = await mustAnswer(phases, session, agent, { verb: "restart", force });
      return { agent, changes: changesOf(report), proofs };
    });
  });

function mustBeStartable(session: Session, agent: Agent, verb: Verb, force: boolean) {
  mustBeInstalled(agent);
  if (!force) mustBeReady(agent, verb);
  return check(session, `check ${agent.name} on ${agent.host.name}`, () => mustBeRunnable(session, agent));
}

type Verb = "start" | "restart";

const isUp = ({ unit: { ActiveState, UnitFileState, NeedDaemonReload } }: Observation): boolean =>
  ActiveState === "active" && UnitFileState === "enabled" && NeedDaemonReload !== "yes";

/** Milliseconds that an agent started by force gets to settle: three seconds for the unit, and some for the probe. */
const forcedStartTimeout = 5000;

/** With --force only the essential proofs must pass; others are warnings. A failure resets the agent to validate. */
async function mustAnswer(
  { prove, record }: Phases,
  session: Session,
  agent: Agent,
  { verb, force }: { verb: Verb; force: boolean },
): Promise<Proof[]> {
  const lenient = force && agent.record.onboarding.state !== "ready";
  const options = {
    chat: false,
    noChat: "asked by clm agent configure",
    ...(lenient && { timeout: forcedStartTimeout }),
  };
  const proved = await prove(`validate ${agent.name}`, (progress) =>
    proveAndObserve(session, agent, { ...options, progress }),
  );
  if (!proved) return [];
  const required = lenient ? requiredWithForce(proved.proofs, proved.observation) : proved.proofs;
  if (required.some(({ result }) => result === "fail")) {
    await record("the agent has to be validated again", () =>
      changeRecord(session, agent, (now) => withState(now, "validate")),
    );
    mustHold(required, `${agentId(agent)} was ${verb}ed but failed its proofs`);
  }
  for (const { id, result, reason } of proved.proofs)
    if (result === "warn" || result === "fail") session.ui.warn(`${id}: ${reason}`);
  return proved.proofs;
}
