import { runtimeSettings } from "../../../agents/hermes/codex/runtime.js";
import type { Change } from "../../../agents/plan/change.js";
import { Fault } from "../../../errors.js";
import type { RuntimeStatus } from "../../../flows/agent/runtime/status.js";
import { agentId } from "../../../state/agents.js";

/** Hermes may have switched it on itself. */
const isCodexs = ({ runtime, setting }: RuntimeStatus): boolean =>
  runtime === "codex" || setting === runtimeSettings.codex;

const whoRuns = (status: RuntimeStatus): string => {
  if (!isCodexs(status)) return "the agent's own";
  return status.runtime === "codex" ? "Codex" : "Codex, by its config.yaml; not switched on here";
};

/** A status for a person. */
export function describeStatus(status: RuntimeStatus): string[] {
  const { setting, codex, permissions, mirror } = status;
  const lines: [string, string | undefined][] = [
    ["Runtime", whoRuns(status)],
    ["config.yaml", setting ?? "says nothing of it"],
    ["Codex", codex.version && `${codex.version} (${codex.program})`],
    ["Settings", `${codex.home}/config.toml`],
    ["Permissions", permissions],
    ["AGENTS.md", mirror ? "kept current" : "left alone"],
  ];
  return lines.map(([title, value]) => `${`${title}:`.padEnd(13)}${value || "-"}`);
}

/** The same in one line, for who asked about many. */
export function inBrief(status: RuntimeStatus): string {
  const { codex, checks } = status;
  const missing = checks.filter(({ result }) => result === "fail").map(({ id, reason }) => `${id}: ${reason}`);
  const version = codex.version ? ` ${codex.version}` : "";
  const who = isCodexs(status) ? `runs on Codex${version}` : "runs its turns itself";
  if (missing.length > 0) return `${who}; for Codex it lacks: ${missing.join("; ")}`;
  return isCodexs(status) ? who : `${who}; could run on Codex${version}`;
}

/** How a file would change, below what is said of it. */
export const detailLines = ({ details = [] }: Change): string[] => details.map((line) => `    ${line}`);

/** An agent that should run on Codex, and cannot, is not well. */
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
