import { loadType } from "../../agents/manifest/registry.js";
import { type DesiredState, desiredState } from "../../agents/plan/desired-state.js";
import { resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { capability } from "../../agents/type.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";
import { providersBehind } from "./agent-record.js";
import { answersFor, type NewSecrets } from "./answers.js";

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
  const { manifest } = await loadType(session.configDir, record.type);
  const providers = providersBehind(session, record);
  const { answers, keyPending } = await answersFor(
    session,
    resolvedAgent(manifest, { ...agent, record }),
    record,
    secrets,
  );
  const renderer = await capability(manifest, "renderer");
  return { ...desiredState(renderer, manifest, agent, record, answers), providers, keyPending };
}
