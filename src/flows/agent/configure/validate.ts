import { isProven, type Proof } from "../../../agents/probe/proof/proof.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord } from "../../../state/agent.js";
import { hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { recordProofs } from "../agent-record.js";
import { keyRefOf, mustHaveOneKey } from "../api-key.js";
import { desire } from "../desire.js";
import { isMerelyStopped, proveAndObserve } from "../prove.js";
import type { AgentTarget } from "../target.js";

/** Changes nothing on the host; refused when its settings are outdated. A stopped agent keeps its earlier proofs. */
export async function validate(
  session: Session,
  { agent, resolved }: AgentTarget,
  skipChat: boolean,
): Promise<{ record: AgentRecord; proofs: Proof[] }> {
  mustHaveOneKey(session, keyRefOf(agent, resolved.manifest));
  const desired = await desire(session, agent);
  const written = agent.record.rendered?.digest;
  if (written !== desired.digest) {
    const what = `${agent.name} does not run with ${written ? "the latest answers" : "any answers"} yet`;
    throw new Fault("check-failed", what, {
      why: written ? "something about it changed since it was configured" : "it was never configured",
      next: `clm agent configure ${agent.ref}`,
    });
  }
  const chat = skipChat ? { chat: false, noChat: "not asked (--skip-chat)" } : { chat: true };
  const proved = await proveAndObserve(session, agent, { ...chat, connections: true });
  const { proofs } = proved;
  if (session.gate.dryRun || isMerelyStopped(proved)) return { record: agent.record, proofs };
  const action = { verb: "agent configure", target: hostAndName(agent), summary: `validate ${agent.name}` };
  const record = await session.gate.pass(
    action,
    () => recordProofs(session, agent, desired, proofs),
    () => ({ result: isProven(proofs) ? "ok" : "failed" }),
  );
  return { record: record ?? agent.record, proofs };
}
