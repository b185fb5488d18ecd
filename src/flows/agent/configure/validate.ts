import { isProven, type Proof } from "../../../agents/proof/proof.js";
import { loadType } from "../../../agents/registry.js";
import { render } from "../../../agents/rendering.js";
import { type Subject, subjectOf } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, fullName, instanceOf } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { answersFor } from "../answers.js";
import { mustHaveOneKey } from "../api-key.js";
import { isMerelyStopped, proveAndSee } from "../prove.js";
import { digestOf } from "../rendered.js";
import { providersBehind, recordProofs } from "./record.js";

/**
 * Validate: proves what runs, and changes nothing on the host. What was never rendered, or not in its latest form, is not
 * proven. What was proven before still holds of an agent that somebody stopped: it may be started again.
 */
export async function validate(
  session: Session,
  agent: Agent,
  { skipChat }: { skipChat: boolean },
): Promise<{ record: AgentRecord; proofs: Proof[]; subject: Subject }> {
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const subject = subjectOf(manifest, agent);
  mustHaveOneKey(session, { instance: instanceOf(agent), name: manifest.api.secret }, agent.word);
  const providers = providersBehind(session, agent.record);
  const rendering = render(subject, await answersFor(session, subject, agent.record));
  const digest = digestOf(subject, rendering);
  if (agent.record.rendered?.digest !== digest) {
    const never = !agent.record.rendered?.digest;
    throw new Fault(
      "check-failed",
      `${agent.name} does not run with ${never ? "any answers" : "the latest answers"} yet`,
      {
        why: never ? "it was never configured" : "something about it changed since it was configured",
        next: `clm agent configure ${agent.word}`,
      },
    );
  }
  const proved = await proveAndSee(session, agent, {
    chat: !skipChat,
    connections: true,
    ...(skipChat && { noChat: "not asked (--skip-chat)" }),
  });
  const { proofs } = proved;
  if (session.gate.dryRun || isMerelyStopped(proved)) return { record: agent.record, proofs, subject };
  const deed = {
    verb: "agent configure",
    target: fullName(agent),
    summary: `validate ${agent.name}`,
  };
  const record = await session.gate.pass(
    deed,
    () => recordProofs(session, agent, { digest, providers }, proofs),
    () => ({ result: isProven(proofs) ? "ok" : "failed" }),
  );
  return { record: record ?? agent.record, proofs, subject };
}
