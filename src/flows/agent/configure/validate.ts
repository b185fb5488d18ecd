import { isProven } from "../../../agents/probe/proof/proof.js";
import { Fault } from "../../../errors.js";
import { hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { recordProofs } from "../agent-record.js";
import { keyRefOf, mustHaveOneKey } from "../api-key.js";
import { desire } from "../desire.js";
import { chatSkipped, isMerelyStopped, prove } from "../prove.js";
import type { AgentTarget } from "../target.js";
import { answersGiven, type Changes } from "./changes.js";
import type { ConfigureRequest, ConfigureResult } from "./configure.js";
import { stageResults } from "./stages.js";

/**
 * Changes nothing on the host, so answers given with it are refused, and so are outdated settings. A stopped agent keeps
 * its earlier proofs.
 */
export async function validate(
  session: Session,
  { agent, resolved }: AgentTarget,
  given: Changes,
  request: ConfigureRequest,
): Promise<ConfigureResult> {
  if (!request.validate) throw new Fault("usage", "--stage validate and --no-validate contradict each other");
  if (Object.values(answersGiven(given)).includes(true)) {
    throw new Fault("usage", "--stage validate takes no answers", {
      why: "it only proves the current state; without --stage, configure applies the answers and proves the result",
    });
  }
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
  const noChat = request.skipChat ? chatSkipped : undefined;
  const proved = await prove(session, agent, { noChat, connections: true });
  const { proofs } = proved;
  const { dryRun } = session.gate;
  const action = { verb: "agent configure", target: hostAndName(agent), summary: `validate ${agent.name}` };
  const recorded =
    dryRun || isMerelyStopped(proved)
      ? undefined
      : await session.gate.pass(
          action,
          () => recordProofs(session, agent, desired, proofs),
          () => ({ result: isProven(proofs) ? "ok" : "failed" }),
        );
  const record = recorded ?? agent.record;
  const outcome = { was: record, tests: {}, proofs, dryRun };
  const stages = stageResults(resolved, record, outcome).filter(({ name }) => name === "validate");
  return { agent: { ...agent, record }, stages, changes: [], proofs, afterwards: [] };
}
