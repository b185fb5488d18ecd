import { changesOf } from "../../agents/plan/change.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import type { Proof } from "../../agents/probe/proof/proof.js";
import { unit } from "../../remote/operations/operation.js";
import { type Agent, agentId, hostAndName } from "../../state/agents.js";
import { check, flow, type Phases } from "../flow.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import { changeRecord, setDown, withState } from "./agent-record.js";
import type { AgentResult } from "./apply.js";
import { mustBeInstalled, mustBeReady, mustBeRunnable, mustHold, requiredWithForce } from "./preconditions.js";
import { prove as proveAgent } from "./prove.js";
import { killUnit, withStopNotice } from "./stop.js";

type Verb = "start" | "restart";

export interface StartOptions {
  /** Also when onboarding is not complete. */
  force: boolean;
  /** For a restart: do not wait for running model calls. */
  now?: boolean;
}

export const startAgent = (session: Session, ref: string, options: StartOptions): Promise<AgentResult> =>
  bringUp(session, ref, "start", options);

export const restartAgent = (session: Session, ref: string, options: StartOptions): Promise<AgentResult> =>
  bringUp(session, ref, "restart", options);

/**
 * Everything is checked before a stop, so that an agent that could not start again keeps running. Also proves that the
 * process on its port is this agent.
 */
const bringUp = (session: Session, ref: string, verb: Verb, { force, now }: StartOptions): Promise<AgentResult> =>
  withLockedAgent(session, ref, async (agent) => {
    mustBeInstalled(agent);
    if (!force) mustBeReady(agent, verb);
    const title = `check ${agent.name} on ${agent.host.name}`;
    const { root, observation } = await check(session, title, () => mustBeRunnable(session, agent));
    const restarts = verb === "restart";
    const action = { verb: `agent ${verb}`, target: hostAndName(agent), summary: `${verb} ${agentId(agent)}` };
    return flow(session, action, async (phases) => {
      const { change, record } = phases;
      const { unit: name, down } = agent.record;
      if (down) await record("the agent should run", () => setDown(session, agent, false));
      if (now) await change(`kill ${name}`, () => killUnit(session, root, name));
      const operations = [unit(name, { enabled: true, state: restarts ? "restarted" : "started" })];
      const work = async () => changesOf(await change(`${verb} ${name}`, { root, operations }));
      const changeUnit = () => (restarts ? withStopNotice(session, root, agent, work) : work());
      const changes = !restarts && isUp(observation) ? [] : await changeUnit();
      return { agent, changes, proofs: await mustAnswer(phases, session, agent, { verb, force }) };
    });
  });

const isUp = ({ unit: { ActiveState, UnitFileState, NeedDaemonReload } }: Observation): boolean =>
  ActiveState === "active" && UnitFileState === "enabled" && NeedDaemonReload !== "yes";

/** Milliseconds, with --force and an incomplete onboarding: three seconds for the unit, and some for the probe. */
const incompleteAgentTimeout = 5000;

/** With --force only the essential proofs must pass; others are warnings. A failure resets the agent to validate. */
async function mustAnswer(
  { prove, record }: Phases,
  session: Session,
  agent: Agent,
  { verb, force }: { verb: Verb; force: boolean },
): Promise<Proof[]> {
  const lenient = force && agent.record.onboarding.state !== "ready";
  const options = { noChat: "asked by clm agent configure", ...(lenient && { timeout: incompleteAgentTimeout }) };
  const proved = await prove(`validate ${agent.name}`, (progress) =>
    proveAgent(session, agent, { ...options, progress }),
  );
  if (!proved) return [];
  const required = lenient ? requiredWithForce(proved.proofs, proved.observation) : proved.proofs;
  if (required.some(({ result }) => result === "fail")) {
    await record("the agent must be validated again", () =>
      changeRecord(session, agent, (now) => withState(now, "validate")),
    );
    mustHold(required, `${agentId(agent)} was ${verb}ed but failed its proofs`);
  }
  for (const { id, result, reason } of proved.proofs)
    if (result === "warn" || result === "fail") session.ui.warn(`${id}: ${reason}`);
  return proved.proofs;
}
