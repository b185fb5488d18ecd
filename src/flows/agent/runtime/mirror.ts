import { fileOperations } from "../../../agents/plan/plan-files.js";
import { activeRuntime } from "../../../agents/plan/runtime.js";
import { asFault } from "../../../errors.js";
import { hostAndName } from "../../../state/agents.js";
import { flow } from "../../flow.js";
import type { Session } from "../../session.js";
import type { AgentTarget } from "../target.js";
import { desireFor, enableCommand, planIn, runtimeTarget } from "./runtime-target.js";

/** The memory is written already, so a failure is a warning. */
export async function mirrorMemory(session: Session, { agent, resolved }: AgentTarget): Promise<void> {
  const { ui, signal } = session;
  const { runtime } = agent.record;
  const title = activeRuntime(resolved)?.title;
  if (!runtime || !title) return;
  if (!runtime.mirror) {
    const next = enableCommand(runtime.kind, agent, "--mirror");
    ui.warn(`${agent.name} runs on ${title}, which does not read its memory: ${next}`);
    return;
  }
  const summary = `copy the memory of ${agent.name} to ${title}`;
  const action = { verb: "agent runtime", target: hostAndName(agent), summary };
  try {
    const target = await runtimeTarget(session, hostAndName(agent));
    const plan = planIn(target, await desireFor(target, target.agent.record));
    const files = plan.files.filter(({ file }) => file.id === target.runtime.mirrorId);
    const operations = fileOperations(plan.agent, files, { restart: false });
    await flow(session, action, ({ change }) => change(summary, { root: target.root, operations }));
  } catch (error) {
    signal.throwIfAborted();
    ui.warn(`${title} does not have it yet: ${asFault(error).message}; next: clm agent sync ${agent.ref}`);
  }
}
