import type { Check } from "../../agents/check.js";
import { brief } from "../../agents/probe/proof/judge.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Ui } from "../../ui/ui.js";

export type FindingSubject = { machine: true } | { host: Host } | { agent: Agent };

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

/** The finding with reasons that are safe to show: redacted, one line, no control characters. */
export const cleaned = ({ ui }: { ui: Pick<Ui, "redact"> }, { about, checks }: Finding): Finding => ({
  about,
  checks: checks.map((check) => ({ ...check, reason: brief(ui.redact(check.reason), 600) })),
});
