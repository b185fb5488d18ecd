import { changesOf } from "../../agents/plan/change.js";
import { unit } from "../../remote/operations/operation.js";
import { agentId, hostAndName } from "../../state/agents.js";
import { flow } from "../flow.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import { mustAnswer, mustBeStartable, type StartOptions, type StartResult, setDown } from "./start.js";
import { killUnit, withStopNotice } from "./stop.js";

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
