import { type Check, fail, type Verdict } from "../../agents/check.js";
import { brief } from "../../agents/probe/proof/judge.js";
import type { Fault } from "../../errors.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import type { Ui } from "../../ui/ui.js";

export interface Finding {
  about: { machine: true } | { host: Host } | { agent: Agent };
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

export const failedBy = ({ message, why, next }: Fault): Verdict => fail([message, ...why].join(": "), next[0]);

/** The finding with reasons that are safe to show: redacted, one line, no control characters. */
export const cleaned = ({ ui }: { ui: Pick<Ui, "redact"> }, { about, checks }: Finding): Finding => ({
  about,
  checks: checks.map((check) => ({ ...check, reason: brief(ui.redact(check.reason), 600) })),
});
