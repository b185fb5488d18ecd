import type { RuntimeReport } from "../../../agents/agent-runtime.js";
import { type Check, fail, warn } from "../../../agents/check.js";
import { changesIn } from "../../../agents/plan/changes-in.js";
import type { ManualDifference } from "../../../agents/plan/manual-fix.js";
import type { Plan } from "../../../agents/plan/plan.js";
import { type RuntimeType, runtimeTypeOf } from "../../../agents/plan/runtime.js";
import { converge } from "../../../remote/operations/converge.js";
import type { Agent } from "../../../state/agents.js";
import { check } from "../../flow.js";
import type { Session } from "../../session.js";
import { desireFor, preflight, type RuntimeTarget, recordFor, runtimeTarget, settingOf } from "./runtime-target.js";

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
  const desired = await desireFor(target, { ...agent.record, runtime: recordFor(target, name) });
  const { report, checks, planned } = await check(session, `ask ${type.title}`, () =>
    preflight(target, desired, enabled ? "status" : "preflight"),
  );
  const setting = settingOf(target);
  const plan = "files" in planned ? planned : undefined;
  const accepted = enabled && plan && report.version ? runtime.accepted(desired.resolved, plan, report) : [];
  return {
    agent,
    name,
    type,
    enabled,
    runtime: record.kind,
    mirror: record.mirror,
    permissions: (plan && runtime.settingsIn(plan)?.permissions) ?? record.permissions,
    ...(setting !== undefined && { setting }),
    report,
    checks: [...checks, ...accepted, ...(enabled ? await driftIn(target, planned) : [])],
  };
}

async function driftIn(target: RuntimeTarget, plan: Plan | ManualDifference): Promise<Check[]> {
  const { session, agent, root, runtime, type } = target;
  if ("reason" in plan) return [{ id: "drift", ...fail(plan.reason, plan.fix) }];
  const skipped = Object.entries(runtime.settingsIn(plan)?.skipped ?? {}).map(([name, reason]) => ({
    id: `mcp.${name}`,
    ...warn(`${type.title} does not get it: ${reason}`),
  }));
  const changes = changesIn(plan, await converge(root, plan.operations, { mode: "check", signal: session.signal }));
  if (changes.length === 0) return skipped;
  const reason = `not as it was configured: ${changes.map(({ what }) => what).join(", ")}`;
  return [...skipped, { id: "drift", ...warn(reason, `clm agent sync ${agent.ref}`) }];
}
