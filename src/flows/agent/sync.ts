import { subjectOf } from "../../agents/subject.js";
import { type Agent, findAgent, fullName, instanceOf, titleOf } from "../../state/agents.js";
import { installedWish } from "../fleet/drift.js";
import type { Session } from "../session.js";
import { aloneWith } from "./alone.js";
import { apiKeyOf } from "./api-key.js";
import { bring } from "./bring.js";
import type { Change } from "./change.js";
import { mustBeInstalled, mustHold } from "./gates.js";
import { observe } from "./observe.js";
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
  return aloneWith(session, word, (full) => sync(session, full));
}

async function sync(session: Session, word: string): Promise<Synced> {
  const agent = findAgent(session.hosts.read(), word);
  mustBeInstalled(agent);
  if (!isConfigured(agent)) return asInstalled(session, agent);
  const { record, changes, proofs } = await applyRendering(session, agent, {
    ...{ verb, standing: "as-recorded", allowRemoval: true, sparing: true, connections: true },
  });
  const now = { ...agent, record: session.gate.dryRun ? agent.record : record };
  mustHold(proofs, `${titleOf(now)} is as it was configured, and does not answer as it should`);
  return { agent: now, changes, proofs };
}

/** One that has not been configured yet has what install gave it. */
async function asInstalled(session: Session, agent: Agent): Promise<Synced> {
  const { subject } = await targetOf(session, fullName(agent));
  const { key } = apiKeyOf(session, { instance: instanceOf(agent), name: subject.manifest.api.secret });
  const root = (await session.pool.connect(agent.host)).as("root");
  const seen = await observe(root, subject, key, { rendered: { salt: "" } }, session.signal);
  if (!seen.account) throw gone(agent, subjectOf(subject.manifest, agent));
  const wish = installedWish(subject, seen, agent.record.mark);
  const deed = { verb, target: fullName(agent), summary: `put ${titleOf(agent)} right` };
  const changes = await bring(session, deed, { root, wish, title: `put ${agent.name} right` });
  return { agent, changes, proofs: [] };
}
