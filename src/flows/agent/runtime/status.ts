import type { Check } from "../../../agents/check.js";
import { migratedIn } from "../../../agents/hermes/codex/files.js";
import { judgeCodex } from "../../../agents/hermes/codex/proof.js";
import { codexTypeOf } from "../../../agents/hermes/codex/runtime.js";
import type { CodexSight } from "../../../agents/hermes/codex/sight.js";
import { type ManualDifference, orManualFix } from "../../../agents/plan/manual-fix.js";
import { changesIn, type Plan } from "../../../agents/plan/plan.js";
import { converge } from "../../../remote/operations/converge.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { withProgress } from "../../with-progress.js";
import { codexBefore, planIn, runtimeOf, runtimeSettingIn, type Scene, sceneOf, wantedBy } from "./scene.js";

export interface RuntimeStatus {
  agent: Agent;
  /** What is recorded. */
  runtime: string;
  /** What its config.yaml says on the host; nothing when it says nothing. */
  setting?: string;
  /** What Codex says of itself there. */
  codex: Pick<CodexSight, "home" | "program" | "version">;
  permissions: string;
  mirror: boolean;
  checks: Check[];
}

/** Status: who runs an agent's turns, by its config.yaml on the host, and how Codex is there. Changes nothing. */
export async function runtimeStatus(session: Session, word: string): Promise<RuntimeStatus> {
  const scene = await sceneOf(session, word);
  const { agent, resolved } = scene;
  const type = codexTypeOf(resolved);
  const runtime = runtimeOf(resolved, type);
  const on = runtime.kind === "codex";
  // Of one that does not run on it, what is told is how it would be.
  const wanted = await wantedBy(scene, { ...agent.record, runtime: { ...runtime, kind: "codex" } });
  const { sight, checks } = await withProgress(session.ui, "ask Codex", () =>
    codexBefore(scene, wanted, { thread: on }),
  );
  const said = runtimeSettingIn(scene);
  const plan = orManualFix(() => planIn(scene, wanted));
  const codex = "files" in plan ? migratedIn(plan) : undefined;
  const accepted = on && codex && sight.version ? judgeCodex(sight, { resolved, runtime, migrated: codex }) : [];
  return {
    ...{ agent, runtime: runtime.kind, mirror: runtime.mirror },
    permissions: codex?.permissions ?? runtime.permissions,
    ...(said !== undefined && { setting: said }),
    codex: sight,
    checks: [...checks, ...accepted, ...(on ? await driftIn(scene, plan) : [])],
  };
}

/** Whether what Codex and the agent were given is there still, and what they were not given at all. */
async function driftIn({ session, agent, root }: Scene, plan: Plan | ManualDifference): Promise<Check[]> {
  const id = "drift";
  if ("reason" in plan) return [{ id, result: "fail", reason: plan.reason, ...(plan.fix && { fix: plan.fix }) }];
  const skipped = Object.entries(migratedIn(plan)?.skipped ?? {}).map(
    ([name, reason]): Check => ({ id: `mcp.${name}`, result: "warn", reason: `Codex does not get it: ${reason}` }),
  );
  const changes = changesIn(plan, await converge(root, plan.operations, { mode: "check", signal: session.signal }));
  if (changes.length === 0) return skipped;
  const reason = `not as it was configured: ${changes.map(({ what }) => what).join(", ")}`;
  return [...skipped, { id, result: "warn", reason, fix: `clm agent sync ${agent.ref}` }];
}
