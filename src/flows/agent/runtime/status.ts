import type { RuntimeReport } from "../../../agents/agent-runtime.js";
import type { Check } from "../../../agents/check.js";
import { type ManualDifference, orManualFix } from "../../../agents/plan/manual-fix.js";
import { changesIn, type Plan } from "../../../agents/plan/plan.js";
import { type RuntimeType, runtimeTypeOf } from "../../../agents/plan/runtime.js";
import { converge } from "../../../remote/operations/converge.js";
import type { Agent } from "../../../state/agents.js";
import { check } from "../../flow.js";
import type { Session } from "../../session.js";
import { desireFor, planIn, preflight, type RuntimeTarget, runtimeTarget, settingOf } from "./runtime-target.js";

export interface RuntimeStatus {
  agent: Agent;
  /** The runtime it is set to, or could have. */
  name: string;
  type: RuntimeType;
  enabled: boolean;
  runtime: string;
  setting?: string;
  report: RuntimeReport;
  permissions: string;
  mirror: boolean;
  checks: Check[];
}

export async function runtimeStatus(session: Session, ref: string): Promise<RuntimeStatus> {
  const target = await runtimeTarget(session, ref);
  const { agent, resolved, name, runtime } = target;
  const type = runtimeTypeOf(resolved, name);
  const record = runtime.recordOf(resolved, type);
  const enabled = record.kind === name;
  // For an agent without the runtime: how it would be with it.
  const desired = await desireFor(target, { ...agent.record, runtime: { ...record, kind: name } });
  const { report, checks } = await check(session, `ask ${type.title}`, () =>
    preflight(target, desired, { session: enabled }),
  );
  const setting = settingOf(target);
  const found = orManualFix(() => planIn(target, desired));
  const plan = "files" in found ? found : undefined;
  const accepted = enabled && plan && report.version ? runtime.accepted(desired.resolved, plan, report) : [];
  return {
    agent,
    name,
    type,
    enabled,
    runtime: record.kind,
    mirror: record.mirror,
    permissions: (plan && runtime.permissionsIn(plan)) ?? record.permissions,
    ...(setting !== undefined && { setting }),
    report,
    checks: [...checks, ...accepted, ...(enabled ? await driftIn(target, found) : [])],
  };
}

async function driftIn(target: RuntimeTarget, plan: Plan | ManualDifference): Promise<Check[]> {
  const { session, agent, root, runtime, type } = target;
  const id = "drift";
  if ("reason" in plan) return [{ id, result: "fail", reason: plan.reason, ...(plan.fix && { fix: plan.fix }) }];
  const skipped = Object.entries(runtime.skippedIn(plan)).map(
    ([name, reason]): Check => ({
      id: `mcp.${name}`,
      result: "warn",
      reason: `${type.title} does not get it: ${reason}`,
    }),
  );
  const changes = changesIn(plan, await converge(root, plan.operations, { mode: "check", signal: session.signal }));
  if (changes.length === 0) return skipped;
  const reason = `not as it was configured: ${changes.map(({ what }) => what).join(", ")}`;
  return [...skipped, { id, result: "warn", reason, fix: `clm agent sync ${agent.ref}` }];
}
