import { judgeCodex } from "../../../agents/codex/proof.js";
import { codexTypeOf } from "../../../agents/codex/runtime.js";
import type { CodexSight } from "../../../agents/codex/sight.js";
import type { Check } from "../../../agents/doctor/check.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { codexBefore, planIn, runtimeOf, runtimeSettingIn, sceneOf, wantedBy } from "./scene.js";

export interface RuntimeStatus {
  agent: Agent;
  /** What is recorded. */
  runtime: "auto" | "codex";
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
  const { agent, subject } = scene;
  const type = codexTypeOf(subject);
  const runtime = runtimeOf(subject, type);
  const on = runtime.kind === "codex";
  // Of one that does not run on it, what is told is how it would be.
  const wanted = await wantedBy(scene, { ...agent.record, runtime: { ...runtime, kind: "codex" } });
  const { sight, checks } = await step(session.ui, "ask Codex", () => codexBefore(scene, wanted, { thread: on }));
  const said = runtimeSettingIn(scene);
  const codex = on ? planIn(scene, wanted).codex : undefined;
  const drifted = codex !== undefined && codex.config.before !== codex.config.text;
  return {
    ...{ agent, runtime: runtime.kind, permissions: runtime.permissions, mirror: runtime.mirror },
    ...(said !== undefined && { setting: said }),
    codex: sight,
    checks: [
      ...checks,
      ...(codex && sight.version ? judgeCodex(sight, { subject, runtime, migrated: codex.migrated }) : []),
      ...(drifted ? [drift(agent)] : []),
    ],
  };
}

const drift = ({ word }: Agent): Check => ({
  ...{ id: "drift", result: "warn", reason: "config.toml is not as it was written" },
  fix: `clm agent sync ${word}`,
});
