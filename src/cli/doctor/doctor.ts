import { type Check, isWell } from "../../agents/check.js";
import { faults } from "../../errors.js";
import { type Diagnosis, doctorAll } from "../../flows/doctor/doctor.js";
import { type Finding, titleOfFinding, worstOf } from "../../flows/doctor/finding.js";
import type { Repair } from "../../flows/doctor/repair.js";
import type { Context, Handler } from "../command.js";
import type { doctor } from "./commands.js";

export const run: Handler<typeof doctor> = async ({ options }, clm) => {
  const { fix, parallel, verbose } = options;
  const diagnosis = await clm.withSession((session) => doctorAll(session, { fix, parallel }));
  return report(clm, diagnosis, { verbose });
};

/** Prints a diagnosis, with problems first and only a summary of what is healthy. Returns the exit code. */
export function report(clm: Context, diagnosis: Diagnosis, { verbose }: { verbose: boolean }): number {
  const { findings, repairs, fixed } = diagnosis;
  for (const repair of repairs) tellRepair(clm, repair);
  const flat = findings.flatMap((finding) => finding.checks.map((check) => row(finding, check, fixed)));
  clm.show(flat, () => textOf(findings, fixed, verbose));
  return findings.some((finding) => worstOf(finding) === "fail") ? faults["check-failed"].exit : 0;
}

function tellRepair({ ui }: Context, { whom, does, result, fault }: Repair): void {
  if (result === "failed") ui.warn(`${whom}: ${does} failed: ${[fault?.message, ...(fault?.why ?? [])].join(": ")}`);
  else ui.note(result === "would" ? `${whom}: would run ${does}` : `${whom}: fixed by ${does}`);
}

function row(finding: Finding, { id, result, reason, fix }: Check, fixed: Set<string>): object {
  const { about } = finding;
  const agent = "agent" in about ? about.agent : undefined;
  const host = agent?.host ?? ("host" in about ? about.host : undefined);
  return {
    about: agent ? "agent" : host ? "host" : "machine",
    host: host?.name ?? null,
    agent: agent?.name ?? null,
    id,
    result,
    reason,
    fix: fix ?? null,
    // `mended` is the former name of `fixed`.
    ...(fixed.has(`${titleOfFinding(finding)} ${id}`) && { fixed: true, mended: true }),
  };
}

const rank = (result: Check["result"]): number => ["fail", "warn", "ok", "skipped"].indexOf(result);

function textOf(findings: Finding[], fixed: Set<string>, verbose: boolean): string {
  const sorted = findings.toSorted((a, b) => rank(worstOf(a)) - rank(worstOf(b)));
  return sorted.map((finding) => groupText(finding, fixed, verbose)).join("\n");
}

function groupText(finding: Finding, fixed: Set<string>, verbose: boolean): string {
  const { checks } = finding;
  const title = titleOfFinding(finding);
  const isFixed = ({ id }: Check) => fixed.has(`${title} ${id}`);
  const shown = checks
    .filter((check) => verbose || !isWell(check) || isFixed(check))
    .toSorted((a, b) => rank(a.result) - rank(b.result));
  const width = Math.max(0, ...shown.map(({ id }) => id.length));
  const lines = shown.flatMap((check) => [
    `  ${(isFixed(check) ? "fixed" : check.result).padEnd(7)}  ${check.id.padEnd(width)}  ${check.reason}`,
    ...(check.fix && !isWell(check) ? [`${" ".repeat(width + 13)}fix: ${check.fix}`] : []),
  ]);
  return [`${title}: ${summary(checks)}`, ...lines].join("\n");
}

function summary(checks: Check[]): string {
  const count = (result: Check["result"]) => checks.filter((check) => check.result === result).length;
  const asked = checks.length - count("skipped");
  const [failed, warned] = [count("fail"), count("warn")];
  const all = `${asked} check${asked === 1 ? "" : "s"}`;
  if (failed + warned === 0) return `${all}, all passed`;
  const parts = [...(failed > 0 ? [`${failed} failed`] : []), ...(warned > 0 ? [`${warned} warned`] : [])];
  return `${all}, ${parts.join(", ")}`;
}
