import { type DesiredState, desiredState } from "../../agents/plan/desired-state.js";
import { capability } from "../../agents/type.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";
import { providersBehind } from "./agent-record.js";
import { answersFor, type NewSecrets } from "./answers.js";
import { resolve } from "./target.js";

export interface Desired extends DesiredState {
  /** A snapshot of its providers, to detect changes by another clm. */
  providers: string;
  keyPending: boolean;
}

/** Refuses everything that can be refused without the host. */
export async function desire(
  session: Session,
  agent: Agent,
  { record = agent.record, secrets }: { record?: AgentRecord; secrets?: NewSecrets | undefined } = {},
): Promise<Desired> {
  const resolved = await resolve(session, { ...agent, record });
  const providers = providersBehind(session, record);
  const { answers, keyPending } = await answersFor(session, resolved, record, secrets);
  const renderer = await capability(resolved.manifest, "renderer");
  return { ...desiredState(renderer, resolved.manifest, agent, record, answers), providers, keyPending };
}
