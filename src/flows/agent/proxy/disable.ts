import { type Change, changesOf } from "../../../agents/plan/change.js";
import { proxyUnit, recordedProxyType } from "../../../agents/plan/proxy.js";
import { absent } from "../../../remote/operations/operation.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import { flow } from "../../flow.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { changeRecord } from "../agent-record.js";
import { resolve } from "../target.js";
import { mustBeItsUnit, probeProxy } from "./probe.js";

/** The agent stays logged in. No changes when there was no proxy. */
export const disableProxy = (session: Session, ref: string): Promise<{ agent: Agent; changes: Change[] }> =>
  withLockedAgent(session, ref, async (agent) => {
    const resolved = await resolve(session, agent);
    const type = recordedProxyType(resolved);
    if (!agent.record.proxy) return { agent, changes: [] };
    const unit = proxyUnit(resolved, type);
    const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
    mustBeItsUnit(resolved, unit, await probeProxy(session, root, resolved, type, {}));
    const action = {
      verb: "agent proxy disable",
      target: hostAndName(agent),
      summary: `remove ${unit} from ${agent.host.name}`,
    };
    return flow(session, action, async ({ change, record }) => {
      const changes = changesOf(await change(`remove ${unit}`, { root, operations: [absent({ unit })] }));
      // Last, so that the same command resumes an interrupted run.
      const updated = await record("no proxy", () => changeRecord(session, agent, withoutProxy));
      return { agent: updated ? { ...agent, record: updated } : agent, changes };
    });
  });

const withoutProxy = ({ proxy: _, ...record }: AgentRecord): AgentRecord => record;
