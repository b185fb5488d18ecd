import { fill } from "../files/template.js";
import { plainVersion } from "../manifest/versions.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";

/** The first line the launcher must print: `Agent v0.13.0 (2026.5.7)`. */
export function versionLine({ manifest, release, version }: ResolvedAgent): string {
  return fill(manifest.version?.line ?? "", { reports: release.reports, version: plainVersion(version) }) ?? "";
}

/** Whether the launcher printed that. In a release known as `0.15.x`, the x is any number. */
export function saysVersion(agent: ResolvedAgent, said: string): boolean {
  const { reports } = agent.release;
  if (!agent.manifest.version) return true;
  if (!reports.endsWith(".x")) return said === versionLine(agent);
  const line = versionLine(agent);
  const [number] = /^\d+/.exec(said.slice(line.indexOf(reports) + reports.length - 1)) ?? [];
  return number !== undefined && said === line.replace(reports, reports.replace(/x$/, number));
}
