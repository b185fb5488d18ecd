import { fill } from "../render/template.js";
import type { Subject } from "./subject.js";
import { plainVersion } from "./versions.js";

/** The first line the launcher must print, for a person: `Hermes Agent v0.13.0 (2026.5.7)`. */
export function versionLine({ manifest, release, version }: Subject): string {
  return fill(manifest.version.line, { reports: release.reports, version: plainVersion(version) }) ?? "";
}

/** Whether the launcher said what it must. Where a release is known as `0.15.x`, any number may stand for the x. */
export function saysVersion(subject: Subject, said: string): boolean {
  const { reports } = subject.release;
  if (!reports.endsWith(".x")) return said === versionLine(subject);
  const stem = reports.slice(0, -1);
  const at = versionLine(subject).indexOf(reports);
  const [, number] = /^(\d+)/.exec(said.slice(at + stem.length)) ?? [];
  return number !== undefined && said === versionLine(subject).replace(reports, `${stem}${number}`);
}
