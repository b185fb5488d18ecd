import { isProven } from "../../agents/probe/proof/proof.js";
import { Fault } from "../../errors.js";
import { type Agent, agentId, findAgent, secretOwner } from "../../state/agents.js";
import type { Session } from "../session.js";
import { apiKeyOf } from "./api-key.js";
import { observe } from "./observe.js";
import { mustHold } from "./preconditions.js";
import { type Applied, applyRendering } from "./rendered.js";
import { targetOf } from "./target.js";

export interface Put extends Applied {
  /** It does not run, and was not started: what was put there has not been proven. */
  down: boolean;
}

/** An agent whose files were never written has nothing on its host that could be changed. */
export const isConfigured = ({ record }: Agent): boolean => record.rendered !== undefined;

export function mustBeConfigured(agent: Agent): void {
  if (isConfigured(agent)) return;
  throw new Fault("not-ready", `${agentId(agent)} has not been configured yet`, {
    next: `clm agent configure ${agent.ref}`,
  });
}

/**
 * Puts on the host what was changed here, and proves it, all but a model's answer. An agent that is down stays down.
 * Called while no other clm works on the agent.
 */
export async function putOnHost(session: Session, word: string, verb: string): Promise<Put> {
  const { agent, resolved } = await targetOf(session, word);
  const { key } = apiKeyOf(session, { instance: secretOwner(agent), name: resolved.manifest.api.secret });
  const root = (await session.pool.connect(agent.host)).as("root");
  const { unit } = await observe(root, resolved, key, {}, session.signal);
  const down = unit.ActiveState === "inactive" || unit.ActiveState === "failed";
  const applied = await applyRendering(session, agent, {
    ...{ verb, skipChat: true, validate: !down },
    serviceState: down ? "as-is" : "up",
  });
  if (!down && !isProven(applied.proofs)) {
    mustHold(applied.proofs, `${agentId(findAgent(session.hosts.read(), word))} does not answer as it should`);
  }
  return { ...applied, down };
}
