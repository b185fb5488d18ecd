import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { Fault } from "../../errors.js";
import type { Secret } from "../../secret.js";
import { type Agent, agentId, hostAndName } from "../../state/agents.js";
import { flow } from "../flow.js";
import type { Session } from "../session.js";
import { withLockedAgent } from "./agent-lock.js";
import { isKey, keyDescription, keyRefOf, mustHaveKey, newKey, nextName, promoteKey, rotateLine } from "./api-key.js";
import type { AgentResult } from "./apply.js";
import { applyChanged, prepareChanged } from "./apply-changed.js";
import { observe } from "./observe.js";
import { isConfigured, mustBeInstalled } from "./preconditions.js";
import { type AgentTarget, resolve } from "./target.js";

export interface RotateResult extends AgentResult {
  /** Where the new key is: in the running agent, in the files of a stopped one, or only on this machine. */
  reached: "agent" | "files" | "nothing";
  /** An interrupted rotation was finished with its key. */
  resumed: boolean;
}

/** The new key is kept beside the old one until the host has it: after a kill at any point the same command resumes. */
export const rotateKey = (session: Session, ref: string): Promise<RotateResult> =>
  withLockedAgent(session, ref, async (agent) => {
    const target = { agent, resolved: await resolve(session, agent) };
    return rotate(session, target).catch((error) => {
      throw withResumeHint(session, target, error);
    });
  });

/** Adds the command that finishes an interrupted rotation. */
function withResumeHint({ secrets }: Session, { agent, resolved }: AgentTarget, error: unknown): unknown {
  const keyRef = keyRefOf(agent, resolved.manifest);
  const pending = keyRef && secrets.get(keyRef.instance, nextName(keyRef.name)) !== undefined;
  const line = rotateLine(agent.ref);
  if (error instanceof Fault && pending && !error.next.includes(line)) error.next.push(line);
  return error;
}

async function rotate(session: Session, { agent, resolved }: AgentTarget): Promise<RotateResult> {
  const { secrets, ui } = session;
  mustBeInstalled(agent);
  const keyRef = mustHaveKey(agent, resolved.manifest);
  const pending = secrets.get(keyRef.instance, nextName(keyRef.name));
  const old = secrets.get(keyRef.instance, keyRef.name);
  for (const secret of [pending, old]) if (secret) ui.hide(secret);
  const resumed = pending !== undefined && isKey(pending);
  const next = resumed ? pending : newKey();
  ui.hide(next);
  const prepared = isConfigured(agent) ? await prepareChanged(session, agent, { [keyRef.name]: next }) : undefined;
  const summary = `${resumed ? "finish rotating" : "rotate"} the key of ${agentId(agent)}`;
  const action = { verb: "agent rotate-key", target: hostAndName(agent), summary };
  return flow(session, action, async (phases) => {
    const { prove, record } = phases;
    await record("the next key", async () => {
      if (!resumed) await secrets.set(keyRef.instance, nextName(keyRef.name), next, `next ${keyDescription}`);
    });
    const applied = prepared && (await applyChanged(phases, session, prepared));
    const runs = prepared && !prepared.down;
    if (runs && old && isOther(old, next)) {
      await prove("the old key is refused", () => mustBeRefused(session, agent, resolved, old));
    }
    await record("the new key", () => promoteKey(session, keyRef));
    const { changes = [], proofs = [], record: recorded = agent.record } = applied ?? {};
    const reached = !prepared ? "nothing" : prepared.down ? "files" : "agent";
    return { agent: { ...agent, record: recorded }, resumed, reached, changes, proofs };
  });
}

/** An old key that never was one, or that a header cannot carry, cannot be tried. */
const isOther = (old: Secret, next: Secret): boolean =>
  old.reveal() !== "" && old.reveal() !== next.reveal() && !/[\r\n]/.test(old.reveal());

async function mustBeRefused(session: Session, agent: Agent, resolved: ResolvedAgent, old: Secret): Promise<void> {
  const root = (await session.pool.connect(agent.host)).as("root");
  const { answers } = await observe(root, resolved, old, {}, session.signal);
  const { own: status = 0 } = answers;
  if (status === 401) return;
  throw new Fault("check-failed", `${agentId(agent)} does not refuse its old key`, {
    why: status === 0 ? "it did not answer" : `it answered ${status}; it should be 401`,
    next: rotateLine(agent.ref),
  });
}
