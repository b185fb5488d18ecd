import { Fault } from "../../errors.js";
import { type Agent, agentId } from "../../state/agents.js";
import type { Phases } from "../flow.js";
import type { Session } from "../session.js";
import type { NewSecrets } from "./answers.js";
import { type ApplyResult, applyIn } from "./apply.js";
import { desire } from "./desire.js";
import { mustNotDrop } from "./foreign-variables.js";
import { mustHold } from "./preconditions.js";
import { type Prepared, prepare } from "./prepare.js";

export const isConfigured = ({ record }: Agent): boolean => record.rendered !== undefined;

export function mustBeConfigured(agent: Agent): void {
  if (isConfigured(agent)) return;
  throw new Fault("not-ready", `${agentId(agent)} has not been configured yet`, {
    next: `clm agent configure ${agent.ref}`,
  });
}

/** Plans a change of secrets only. A stopped agent stays stopped. */
export async function prepareChanged(session: Session, agent: Agent, secrets: NewSecrets): Promise<Prepared> {
  const desired = await desire(session, agent, { secrets });
  const prepared = await prepare(session, agent, desired, { serviceState: "as-running" });
  mustNotDrop(agent, prepared.plan, session.gate.dryRun ? session.ui : undefined);
  return prepared;
}

export async function applyChanged(phases: Phases, session: Session, prepared: Prepared): Promise<ApplyResult> {
  const { agent, down } = prepared;
  const applied = await applyIn(phases, session, prepared, { skipChat: true, validate: !down });
  if (applied.proofs.length > 0) {
    mustHold(applied.proofs, `${agentId({ ...agent, record: applied.record })} failed its proofs`);
  }
  return applied;
}
