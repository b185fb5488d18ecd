import type { Proof } from "../../../agents/probe/proof/proof.js";
import { Fault } from "../../../errors.js";
import type { SwitchResult } from "../../../flows/agent/runtime/runtime-target.js";
import type { RuntimeStatus } from "../../../flows/agent/runtime/status.js";
import type { Pace } from "../../../flows/fleet/each.js";
import { agentId } from "../../../state/agents.js";
import { briefCheckView } from "../../agent-view.js";
import type { Context } from "../../command.js";
import { describe } from "../../describe.js";
import { changeText } from "../../print-result.js";
import { batchPace } from "../../run-on-agents.js";

/** The agent may have selected it itself. */
const isOn = ({ enabled, setting, type }: RuntimeStatus): boolean => enabled || setting === type.setting;

function runtimeText(status: RuntimeStatus): string {
  if (!isOn(status)) return "the agent's own";
  return status.enabled ? status.type.title : `${status.type.title}, by its config.yaml; not enabled by clm`;
}

export function describeStatus(status: RuntimeStatus): string {
  const { setting, type, report, permissions, mirror } = status;
  return describe(12, [
    ["Runtime", runtimeText(status)],
    ["config.yaml", setting ?? "does not set it"],
    [type.title, report.version && `${report.version} (${report.program})`],
    ["Settings", report.home],
    ["Permissions", permissions],
    ["Memory", mirror ? "copied to it" : "not copied"],
  ]);
}

export function inBrief(status: RuntimeStatus): string {
  const { type, report, checks } = status;
  const missing = checks.filter(({ result }) => result === "fail").map(({ id, reason }) => `${id}: ${reason}`);
  const title = `${type.title}${report.version ? ` ${report.version}` : ""}`;
  const now = isOn(status) ? `runs on ${title}` : "runs its turns itself";
  if (missing.length > 0) return `${now}; for ${type.title} it lacks: ${missing.join("; ")}`;
  return isOn(status) ? now : `${now}; could run on ${title}`;
}

export const hasAnswered = (proofs: Proof[]): boolean =>
  proofs.some(({ id, result }) => id === "chat" && result === "ok");

/** The lines of a dry run. The changes of a lone agent are left to `printSwitch`, which prints them in full. */
export const dryRunLines = ({ changes, notes }: SwitchResult, subject: string, already: string): string[] => [
  ...(subject === "" ? changes.map((change) => `would change ${changeText(change)}`) : []),
  ...notes,
  ...(changes.length > 0 ? [] : [`${already}; nothing would change`]),
];

export function printSwitch(clm: Context, { changes, proofs }: Pick<SwitchResult, "changes" | "proofs">): void {
  const lines = changes.flatMap((change) => [
    `${clm.dryRun ? "would change" : "changed"} ${changeText(change)}`,
    ...(clm.dryRun ? (change.details ?? []).map((line) => `    ${line}`) : []),
  ]);
  if (lines.length > 0) clm.ui.out(`${lines.join("\n")}\n\n`);
  if (proofs.length > 0) clm.list(proofs, briefCheckView);
}

/** One agent first, then the others; the first failure stops those not begun yet. */
export function canaryPace(options: { continue: boolean; maxFail: number | undefined; parallel: number }): Pace {
  const { maxFail = 1, ...pace } = batchPace(options);
  return { ...pace, canary: true, ...(!options.continue && { maxFail }) };
}

export function mustRun({ agent, enabled, setting, type, checks }: RuntimeStatus): void {
  if (!enabled) return;
  const failed = checks.filter(({ result }) => result === "fail");
  const other = setting === type.setting ? [] : [`config.yaml on its host selects ${setting ?? "no runtime"}`];
  if (failed.length + other.length === 0) return;
  throw new Fault("check-failed", `${agentId(agent)} should run on ${type.title}, and cannot`, {
    why: [...other, ...failed.map(({ id, reason }) => `${id}: ${reason}`)],
    next: [
      ...new Set([
        ...(other.length > 0 ? [`clm agent sync ${agent.ref}`] : []),
        ...failed.flatMap(({ fix }) => fix ?? []),
      ]),
    ],
  });
}
