import { type Agent, agentId } from "../../state/agents.js";
import type { Phases } from "../flow.js";
import type { Session } from "../session.js";
import type { NewSecrets } from "./answers.js";
import { type ApplyResult, applyIn } from "./apply.js";
import { desire } from "./desire.js";
import { mustHold } from "./preconditions.js";
import { type Prepared, prepare } from "./prepare.js";

/** Plans a change of secrets only. A stopped agent stays stopped. */
export async function prepareChanged(session: Session, agent: Agent, secrets: NewSecrets): Promise<Prepared> {
  const desired = await desire(session, agent, { secrets });
  return prepare(session, agent, desired, { serviceState: "as-running", keepForeign: true });
}

export async function applyChanged(phases: Phases, session: Session, prepared: Prepared): Promise<ApplyResult> {
  const { agent, down } = prepared;
  const applied = await applyIn(phases, session, prepared, { skipChat: true, validate: !down });
  mustHold(applied.proofs, `${agentId(agent)} failed its proofs`);
  return applied;
}
