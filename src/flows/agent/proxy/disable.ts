import { proxyTypeHad, proxyUnit } from "../../../agents/proxy/proxy.js";
import { inOneShell } from "../../../remote/one-shell.js";
import { absent } from "../../../remote/operations/operation.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, fullName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { aloneWith } from "../alone.js";
import { type Change, changesOf } from "../change.js";
import { changeRecord } from "../configure/record.js";
import { targetOf } from "../target.js";
import { lookAtProxy, mustBeItsUnit } from "./look.js";

export interface Disabled {
  agent: Agent;
  /** None when there was no proxy. */
  changes: Change[];
}

/** Disable: the proxy's unit is gone from the host. The agent stays logged in. */
export function disableProxy(session: Session, word: string): Promise<Disabled> {
  return aloneWith(session, word, (full) => disable(session, full));
}

async function disable(session: Session, word: string): Promise<Disabled> {
  const { ui, gate } = session;
  const { agent, subject } = await targetOf(session, word);
  const type = proxyTypeHad(subject);
  if (!agent.record.proxy) return { agent, changes: [] };
  const unit = proxyUnit(subject, type);
  const root = await inOneShell((await session.pool.connect(agent.host)).as("root"));
  mustBeItsUnit(subject, unit, await lookAtProxy(session, root, subject, type, {}));
  const deed = {
    verb: "agent proxy disable",
    target: fullName(agent),
    summary: `remove ${unit} from ${agent.host.name}`,
  };
  const wish = [absent({ unit })];
  // The record goes last, so that a run cut short is done again by the same command.
  const done = await gate.pass(deed, async (works) => {
    const report = await step(ui, `remove ${unit}`, () => works.converge(root, wish));
    return { report, record: await changeRecord(session, agent, without) };
  });
  const changes = changesOf(done?.report ?? (await gate.converge(deed, root, wish)));
  return { agent: done ? { ...agent, record: done.record } : agent, changes };
}

const without = ({ proxy: _, ...record }: AgentRecord): AgentRecord => record;
