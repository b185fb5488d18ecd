import { runsOnCodex } from "../../../agents/hermes/codex/runtime.js";
import { type Plan, recordedServiceState } from "../../../agents/plan/plan.js";
import { isProven } from "../../../agents/probe/proof/proof.js";
import { asFault } from "../../../errors.js";
import { absent, file, type Operation } from "../../../remote/operations/operation.js";
import { agentId, findAgent, hostAndName } from "../../../state/agents.js";
import { withProgress } from "../../with-progress.js";
import { changeRecord, withState } from "../configure/record.js";
import { prove } from "../prove.js";
import { codexFilesIn } from "./enable.js";
import { switchTo } from "./install.js";
import { planIn, type Scene, wantedBy } from "./scene.js";

/** Something that was begun, and what was there before it. */
export interface Begun {
  /** As it was seen before the first change. */
  scene: Scene;
  /** Another Codex was brought. */
  installed: boolean;
  /** What its launcher led to before; empty when another one, elsewhere on the PATH, was used. Nothing when there was none at all. */
  launcher?: string;
  /** What was to become of it, once that was known. */
  plan?: Plan;
  /** The agent itself has been told, or may have been. */
  applied?: boolean;
}

/** Does the work. When it fails everything is as it was before, and the fault says so; but for Ctrl-C, after which a rerun goes on. */
export async function orPutBack<T>(begun: Begun, work: () => Promise<T>): Promise<T> {
  const { signal, gate } = begun.scene.session;
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    const fault = asFault(error);
    const isTouched = begun.plan !== undefined || begun.launcher !== undefined;
    if (isTouched && !gate.dryRun) fault.why.push(await putBack(begun));
    throw fault;
  }
}

/** What became of it, in words. */
async function putBack(begun: Begun): Promise<string> {
  const { session, agent, root } = begun.scene;
  const action = {
    verb: "agent runtime",
    target: hostAndName(agent),
    summary: `put back the files of ${agentId(agent)}`,
  };
  try {
    await withProgress(session.ui, "put back what was there", async () => {
      if (begun.launcher !== undefined) await switchTo(begun.scene, begun.launcher);
      const wish = await asBefore(begun);
      if (wish.length > 0) await session.gate.pass(action, (executor) => executor.converge(root, wish));
    });
    if (!begun.applied && !runsOnCodex(begun.scene.resolved)) return "what was there before is there again";
    const now = findAgent(session.hosts.read(), hostAndName(agent));
    const { record } = agent;
    const recorded = await changeRecord(session, now, ({ status }) => ({ ...record, status }));
    if (recordedServiceState(record) !== "up") return "what was there before is there again";
    const proofs = await prove(session, { ...agent, record: recorded }, { chat: false, noChat: "answered before" });
    if (isProven(proofs)) return "what was there before is there again";
    await changeRecord(session, { ...agent, record: recorded }, (each) => withState(each, "validate"));
    return "what was there before is there again, and it does not answer: clm agent doctor tells more";
  } catch (error) {
    session.signal.throwIfAborted();
    const trouble = asFault(error);
    return `what was there before could not be put back: ${[trouble.message, ...trouble.why].join(": ")}`;
  }
}

/**
 * The agent as it was recorded, and of the files that others write to as well every byte as it was seen. What was not touched
 * yet is left alone: the agent may have written to its config.yaml meanwhile.
 */
async function asBefore({ scene, plan, installed, applied }: Begun): Promise<Operation[]> {
  const { agent, resolved, seen } = scene;
  const { user: owner, unit, paths } = resolved;
  const inUse = runsOnCodex(resolved);
  const touched = plan ? codexFilesIn(plan) : [];
  const files: Operation[] = touched.flatMap(({ file, before, text }) => {
    if (before === text) return [];
    return backTo(file.path, before, { owner, mode: 0o600, ...(inUse && { restarts: unit }) });
  });
  const back = planIn(scene, await wantedBy(scene, agent.record));
  // What was seen of Codex' files is of the home that was wished: of another nothing is known, and nothing was changed.
  const isCodexs = (path: string) => [...touched, ...codexFilesIn(back)].some(({ file }) => file.path === path);
  const rest = back.operations.flatMap((each): Operation[] => {
    if (each.kind === "unit" && each.name === unit) {
      if (inUse && installed && each.state === "started") return [{ ...each, state: "restarted" }];
      return applied || inUse ? [each] : [];
    }
    if (!applied || (each.kind === "absent" && isCodexs(each.name))) return [];
    if (each.kind !== "file") return [each];
    if (isCodexs(each.path)) return [];
    return each.path === paths.config ? [{ ...each, content: seen.texts.config?.text ?? "" }] : [each];
  });
  return [...files, ...rest];
}

const backTo = (
  path: string,
  before: string | undefined,
  how: { owner: string; mode: number; restarts?: string },
): Operation => (before === undefined ? absent({ path }) : file(path, { ...how, content: before }));
