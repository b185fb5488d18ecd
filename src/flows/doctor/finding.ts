import type { Check } from "../../agents/check.js";
import { brief } from "../../agents/probe/proof/judge.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Ui } from "../../ui/ui.js";

/** Whom a check is about. */
export type FindingSubject = { machine: true } | { host: Host } | { agent: Agent };

/** Whom the doctor looked at, and what was found. */
export interface Finding {
  about: FindingSubject;
  checks: Check[];
}

export function titleOfFinding({ about }: Pick<Finding, "about">): string {
  if ("agent" in about) return hostAndName(about.agent);
  return "host" in about ? about.host.name : "this machine";
}

export const worstOf = ({ checks }: Pick<Finding, "checks">): "fail" | "warn" | "ok" => {
  if (checks.some(({ result }) => result === "fail")) return "fail";
  return checks.some(({ result }) => result === "warn") ? "warn" : "ok";
};

/** What came from hosts, safe to show: nothing secret, one line, nothing that moves a terminal's cursor. */
export const cleaned = ({ ui }: { ui: Pick<Ui, "redact"> }, { about, checks }: Finding): Finding => ({
  about,
  checks: checks.map((check) => ({ ...check, reason: brief(ui.redact(check.reason), 600) })),
});
