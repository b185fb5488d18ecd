import { changesOf } from "../../agents/plan/change.js";
import { installedOperations } from "../../agents/plan/plan.js";
import { type Agent, agentId, hostAndName } from "../../state/agents.js";
import { flow } from "../flow.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import { apiKeyOf, keyRefOf } from "./api-key.js";
import { type AgentResult, apply } from "./apply.js";
import { desire } from "./desire.js";
import { observe } from "./observe.js";
import { isConfigured, mustBeInstalled, mustHold } from "./preconditions.js";
import { mustHaveAccount, prepare } from "./prepare.js";
import { resolve } from "./target.js";

const verb = "agent sync";

/** Applies the same plan as configure. A stopped agent stays stopped; files not managed by clm are not touched. */
export const syncAgent = (session: Session, ref: string): Promise<AgentResult> =>
  withLockedAgent(session, ref, async (agent) => {
    mustBeInstalled(agent);
    if (!isConfigured(agent)) return asInstalled(session, agent);
    const prepared = await prepare(session, agent, await desire(session, agent), {
      serviceState: "as-recorded",
      connections: true,
    });
    const applying = { verb, skipChatIfUnchanged: true, connections: true };
    const { record, changes, proofs } = await apply(session, prepared, applying);
    mustHold(proofs, `${agentId(agent)} has no configuration drift, but failed its proofs`);
    return { agent: { ...agent, record: session.gate.dryRun ? agent.record : record }, changes, proofs };
  });

/** For an agent that is not configured yet. */
async function asInstalled(session: Session, agent: Agent): Promise<AgentResult> {
  const resolved = await resolve(session, agent);
  const { key } = apiKeyOf(session, keyRefOf(agent, resolved.manifest));
  const root = (await session.pool.connect(agent.host)).as("root");
  const planned = { salt: "", texts: {} };
  const observation = await observe(root, resolved, key, { planned }, session.signal);
  mustHaveAccount(resolved, observation);
  const operations = installedOperations(resolved, observation, agent.record.mark);
  const action = { verb, target: hostAndName(agent), summary: `repair ${agentId(agent)}` };
  return flow(session, action, async ({ change }) => {
    const changes = changesOf(await change(`repair ${agent.name}`, { root, operations }));
    return { agent, changes, proofs: [] };
  });
}
