import { runtimeSettings } from "../../../agents/hermes/codex/runtime.js";
import type { Change } from "../../../agents/plan/change.js";
import type { Proof } from "../../../agents/probe/proof/proof.js";
import { Fault } from "../../../errors.js";
import type { RuntimeStatus } from "../../../flows/agent/runtime/status.js";
import type { Pace } from "../../../flows/fleet/each.js";
import { agentId } from "../../../state/agents.js";
import type { Context } from "../../command.js";
import { batchPace } from "../../run-on-agents.js";
import { changeText } from "../print-result.js";

/** Hermes may have switched it on itself. */
const isCodexs = ({ runtime, setting }: RuntimeStatus): boolean =>
  runtime === "codex" || setting === runtimeSettings.codex;

const whoRuns = (status: RuntimeStatus): string => {
  if (!isCodexs(status)) return "the agent's own";
  return status.runtime === "codex" ? "Codex" : "Codex, by its config.yaml; not switched on here";
};

export function describeStatus(status: RuntimeStatus): string[] {
  const { setting, codex, permissions, mirror } = status;
  const lines: [string, string | undefined][] = [
    ["Runtime", whoRuns(status)],
    ["config.yaml", setting ?? "does not set it"],
    ["Codex", codex.version && `${codex.version} (${codex.program})`],
    ["Settings", `${codex.home}/config.toml`],
    ["Permissions", permissions],
    ["AGENTS.md", mirror ? "kept current" : "left alone"],
  ];
  return lines.map(([title, value]) => `${`${title}:`.padEnd(13)}${value || "-"}`);
}

/** In one line, for a list of many. */
export function inBrief(status: RuntimeStatus): string {
  const { codex, checks } = status;
  const missing = checks.filter(({ result }) => result === "fail").map(({ id, reason }) => `${id}: ${reason}`);
  const version = codex.version ? ` ${codex.version}` : "";
  const who = isCodexs(status) ? `runs on Codex${version}` : "runs its turns itself";
  if (missing.length > 0) return `${who}; for Codex it lacks: ${missing.join("; ")}`;
  return isCodexs(status) ? who : `${who}; could run on Codex${version}`;
}

export const hasAnswered = (proofs: Proof[]): boolean =>
  proofs.some(({ id, result }) => id === "chat" && result === "ok");

/** With several agents; for one agent `printChanges` prints them in full. */
export const wouldChange = (changes: Change[], subject: string): string[] =>
  subject === "" ? changes.map((change) => `would change ${changeText(change)}`) : [];

/** The changes; in a dry run line by line. */
export function printChanges(clm: Context, changes: Change[]): void {
  const lines = changes.flatMap((change) => [
    `${clm.dryRun ? "would change" : "changed"} ${changeText(change)}`,
    ...(clm.dryRun ? (change.details ?? []).map((line) => `    ${line}`) : []),
  ]);
  if (lines.length > 0) clm.ui.out(`${lines.join("\n")}\n\n`);
}

/** One agent first, then the others; the first failure stops those not begun yet. */
export function canaryPace(options: { continue: boolean; maxFail: number | undefined; parallel: number }): Pace {
  const { maxFail = 1, ...pace } = batchPace(options);
  return { ...pace, canary: true, ...(!options.continue && { maxFail }) };
}

export function mustRun({ agent, runtime, setting, checks }: RuntimeStatus): void {
  if (runtime !== "codex") return;
  const failed = checks.filter(({ result }) => result === "fail");
  const other = setting !== runtimeSettings.codex ? [`config.yaml on its host says ${setting ?? "nothing of it"}`] : [];
  if (failed.length + other.length === 0) return;
  throw new Fault("check-failed", `${agentId(agent)} should run on Codex, and cannot`, {
    why: [...other, ...failed.map(({ id, reason }) => `${id}: ${reason}`)],
    next: [
      ...new Set([
        ...(other.length > 0 ? [`clm agent sync ${agent.ref}`] : []),
        ...failed.flatMap(({ fix }) => fix ?? []),
      ]),
    ],
  });
}
