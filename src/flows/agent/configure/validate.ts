import { loadType } from "../../../agents/manifest/registry.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { isProven, type Proof } from "../../../agents/probe/proof/proof.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { recordProofs } from "../agent-record.js";
import { keyRefOf, mustHaveOneKey } from "../api-key.js";
import { desire } from "../desire.js";
import { isMerelyStopped, proveAndObserve } from "../prove.js";

/** Changes nothing on the host; refused when its settings are outdated. A stopped agent keeps its earlier proofs. */
export async function validate(
  session: Session,
  agent: Agent,
  { skipChat }: { skipChat: boolean },
): Promise<{ record: AgentRecord; proofs: Proof[]; resolved: ResolvedAgent }> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  mustHaveOneKey(session, keyRefOf(agent, manifest), agent.ref);
  const { resolved, digest, providers } = await desire(session, agent);
  if (agent.record.rendered?.digest !== digest) {
    const never = !agent.record.rendered?.digest;
    throw new Fault(
      "check-failed",
      `${agent.name} does not run with ${never ? "any answers" : "the latest answers"} yet`,
      {
        why: never ? "it was never configured" : "something about it changed since it was configured",
        next: `clm agent configure ${agent.ref}`,
      },
    );
  }
  const proved = await proveAndObserve(session, agent, {
    chat: !skipChat,
    connections: true,
    ...(skipChat && { noChat: "not asked (--skip-chat)" }),
  });
  const { proofs } = proved;
  if (session.gate.dryRun || isMerelyStopped(proved)) return { record: agent.record, proofs, resolved };
  const action = {
    verb: "agent configure",
    target: hostAndName(agent),
    summary: `validate ${agent.name}`,
  };
  const record = await session.gate.pass(
    action,
    () => recordProofs(session, agent, { digest, providers }, proofs),
    () => ({ result: isProven(proofs) ? "ok" : "failed" }),
  );
  return { record: record ?? agent.record, proofs, resolved };
}
