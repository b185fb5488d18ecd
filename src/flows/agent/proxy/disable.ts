import { type Change, changesOf } from "../../../agents/plan/change.js";
import { proxyUnit, recordedProxyType } from "../../../agents/proxy/proxy.js";
import { absent } from "../../../remote/operations/operation.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { withLockedAgent } from "../agent-lock.js";
import { changeRecord } from "../configure/record.js";
import { targetOf } from "../target.js";
import { mustBeItsUnit, probeProxy } from "./probe.js";

export interface Disabled {
  agent: Agent;
  /** None when there was no proxy. */
  changes: Change[];
}

/** Disable: the proxy's unit is gone from the host. The agent stays logged in. */
export function disableProxy(session: Session, word: string): Promise<Disabled> {
  return withLockedAgent(session, word, (agent) => disable(session, hostAndName(agent)));
}

async function disable(session: Session, word: string): Promise<Disabled> {
  const { ui, gate } = session;
  const { agent, resolved } = await targetOf(session, word);
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
  const wish = [absent({ unit })];
  // The record goes last, so that a run cut short is done again by the same command.
  const done = await gate.pass(action, async (executor) => {
    const report = await step(ui, `remove ${unit}`, () => executor.converge(root, wish));
    return { report, record: await changeRecord(session, agent, without) };
  });
  const changes = changesOf(done?.report ?? (await gate.converge(action, root, wish)));
  return { agent: done ? { ...agent, record: done.record } : agent, changes };
}

const without = ({ proxy: _, ...record }: AgentRecord): AgentRecord => record;
