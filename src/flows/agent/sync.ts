import type { Change } from "../../agents/plan/change.js";
import { resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { type Agent, agentId, findAgent, hostAndName, secretOwner } from "../../state/agents.js";
import { installedWish } from "../fleet/drift.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import { apiKeyOf } from "./api-key.js";
import { bring } from "./bring.js";
import { observe } from "./observe.js";
import { mustBeInstalled, mustHold } from "./preconditions.js";
import type { Proof } from "./prove.js";
import { isConfigured } from "./put-on-host.js";
import { applyRendering, gone } from "./rendered.js";
import { targetOf } from "./target.js";

export interface Synced {
  agent: Agent;
  /** None when it was so already. */
  changes: Change[];
  /** None in a dry run, and of an agent that is down or not ready to run. */
  proofs: Proof[];
}

const verb = "agent sync";

/**
 * Sync: an agent is as it was configured, and where it should run that is proven. The operations are those of configure, and
 * those that diff looks at. What was stopped stays down, and what clm does not look after is not touched.
 */
export function syncAgent(session: Session, word: string): Promise<Synced> {
  return withLockedAgent(session, word, (agent) => sync(session, hostAndName(agent)));
}

async function sync(session: Session, word: string): Promise<Synced> {
  const agent = findAgent(session.hosts.read(), word);
  mustBeInstalled(agent);
  if (!isConfigured(agent)) return asInstalled(session, agent);
  const { record, changes, proofs } = await applyRendering(session, agent, {
    ...{ verb, serviceState: "as-recorded", allowRemoval: true, sparing: true, connections: true },
  });
  const now = { ...agent, record: session.gate.dryRun ? agent.record : record };
  mustHold(proofs, `${agentId(now)} is as it was configured, and does not answer as it should`);
  return { agent: now, changes, proofs };
}

/** One that has not been configured yet has what install gave it. */
async function asInstalled(session: Session, agent: Agent): Promise<Synced> {
  const { resolved } = await targetOf(session, hostAndName(agent));
  const { key } = apiKeyOf(session, { instance: secretOwner(agent), name: resolved.manifest.api.secret });
  const root = (await session.pool.connect(agent.host)).as("root");
  const seen = await observe(root, resolved, key, { rendered: { salt: "" } }, session.signal);
  if (!seen.account) throw gone(agent, resolvedAgent(resolved.manifest, agent));
  const wish = installedWish(resolved, seen, agent.record.mark);
  const action = { verb, target: hostAndName(agent), summary: `put ${agentId(agent)} right` };
  const changes = await bring(session, action, { root, wish, title: `put ${agent.name} right` });
  return { agent, changes, proofs: [] };
}
