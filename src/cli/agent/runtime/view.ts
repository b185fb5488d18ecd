import { Fault } from "../../../errors.js";
import type { Change } from "../../../flows/agent/change.js";
import type { RuntimeStatus } from "../../../flows/agent/runtime/status.js";
import { titleOf } from "../../../state/agents.js";

/** A status for a person. */
export function describeStatus({ runtime, setting, codex, permissions, mirror }: RuntimeStatus): string[] {
  const lines: [string, string | undefined][] = [
    ["Runtime", runtime === "codex" ? "Codex" : "the agent's own"],
    ["config.yaml", setting ?? "says nothing of it"],
    ["Codex", codex.version && `${codex.version} (${codex.program})`],
    ["Settings", `${codex.home}/config.toml`],
    ["Permissions", permissions],
    ["AGENTS.md", mirror ? "kept current" : "left alone"],
  ];
  return lines.map(([title, value]) => `${`${title}:`.padEnd(13)}${value || "-"}`);
}

/** The same in one line, for who asked about many. */
export function inBrief({ runtime, codex, checks }: RuntimeStatus): string {
  const missing = checks.filter(({ result }) => result === "fail").map(({ id, reason }) => `${id}: ${reason}`);
  const who = runtime === "codex" ? `runs on Codex ${codex.version ?? ""}`.trim() : "runs its turns itself";
  if (missing.length > 0) return `${who}; for Codex it lacks: ${missing.join("; ")}`;
  return runtime === "codex" ? who : `${who}; could run on Codex ${codex.version ?? ""}`.trim();
}

/** How a file would change, below what is said of it. */
export const detailLines = ({ details = [] }: Change): string[] => details.map((line) => `    ${line}`);

/** An agent that should run on Codex, and cannot, is not well. */
export function mustRun({ agent, runtime, setting, checks }: RuntimeStatus): void {
  if (runtime !== "codex") return;
  const failed = checks.filter(({ result }) => result === "fail");
  const other = setting !== "codex_app_server" ? [`config.yaml on its host says ${setting ?? "nothing of it"}`] : [];
  if (failed.length + other.length === 0) return;
  throw new Fault("check-failed", `${titleOf(agent)} should run on Codex, and cannot`, {
    why: [...other, ...failed.map(({ id, reason }) => `${id}: ${reason}`)],
    next: [
      ...new Set([
        ...(other.length > 0 ? [`clm agent sync ${agent.word}`] : []),
        ...failed.flatMap(({ fix }) => fix ?? []),
      ]),
    ],
  });
}
