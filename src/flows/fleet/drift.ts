import { type Change, changesOf } from "../../agents/plan/change.js";
import { type DetailOptions, withDetails } from "../../agents/plan/change-details.js";
import { changesIn } from "../../agents/plan/changes-in.js";
import { type ManualDifference, orManualFix } from "../../agents/plan/manual-fix.js";
import { installedOperations, planFor, recordedServiceState } from "../../agents/plan/plan.js";
import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { judge } from "../../agents/probe/proof/judge.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { asFault, Fault } from "../../errors.js";
import { converge, type Report } from "../../remote/operations/converge.js";
import type { Operation } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import type { Agent } from "../../state/agents.js";
import { type Desired, desire } from "../agent/desire.js";
import { mustBeInstalled } from "../agent/preconditions.js";
import { resolve } from "../agent/target.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";

export type Drift = { changes: Change[]; lost: ManualDifference[] } | { unknown: string; fault: Fault };

/** Undefined when it was never configured, a fault when its desired state cannot be computed. */
export type DesiredOrFault = Desired | Fault | undefined;

/** Computed before the probe, because it names the files to read. */
export async function expectedOf(session: Session, agent: Agent): Promise<DesiredOrFault> {
  try {
    mustBeInstalled(agent);
    return agent.record.rendered && (await desire(session, agent));
  } catch (error) {
    return asFault(error);
  }
}

export interface ObservedAgent {
  agent: Agent;
  target: { expected?: DesiredOrFault };
  observation: { basics: Observation };
}

const maxTimeout = 60_000;

/** Checks all agents of a host as one list. With the salt of the observations, differing `.env` variables are named. */
export async function driftOnHost(
  session: Session,
  root: Shell,
  agents: readonly ObservedAgent[],
  { salt, timeout = maxTimeout }: { salt: string; timeout?: number },
): Promise<Drift[]> {
  const details = { redact: (text: string) => session.ui.redact(text), secrets: hideSecrets(session) };
  const comparisons = await Promise.all(agents.map((each) => comparisonOf(session, each, salt, details)));
  const operations = comparisons.flatMap((each) => ("operations" in each ? each.operations : []));
  const check = { mode: "check" as const, signal: session.signal, timeout: Math.min(timeout, maxTimeout) };
  const report = operations.length > 0 ? await converge(root, operations, check).catch(unknownBy) : { results: [] };
  session.signal.throwIfAborted();
  return comparisons.map((each) => {
    if (!("operations" in each)) return each;
    if ("unknown" in report) return report;
    const results = report.results.splice(0, each.operations.length);
    return { changes: each.changes({ results }), lost: each.lost };
  });
}

interface Comparison {
  operations: Operation[];
  lost: ManualDifference[];
  changes: (report: Pick<Report, "results">) => Change[];
}

async function comparisonOf(
  session: Session,
  { agent, target: { expected }, observation: { basics: observation } }: ObservedAgent,
  salt: string,
  details: DetailOptions,
): Promise<Comparison | Drift> {
  if (expected instanceof Fault) return unknownBy(expected);
  try {
    const { record } = agent;
    const resolved = await resolve(session, agent);
    const lost = lostIn(resolved, observation);
    if (!observation.account) return { changes: [], lost };
    const plan = orManualFix(() =>
      expected
        ? planFor(expected, observation, { salt, serviceState: recordedServiceState(record) })
        : installedOperations(resolved, observation, record.mark),
    );
    if ("reason" in plan) return { changes: [], lost: [...lost, plan] };
    if (Array.isArray(plan)) return { operations: plan, lost, changes: changesOf };
    const changes: Comparison["changes"] = (report) =>
      changesIn(plan, report).map((change) => withDetails(change, plan, details));
    return { operations: plan.operations, lost, changes };
  } catch (error) {
    return unknownBy(error);
  }
}

export function unknownBy(error: unknown): Extract<Drift, { unknown: string }> {
  const fault = asFault(error);
  return { unknown: [fault.message, ...fault.why].join(": "), fault };
}

/** A missing account or program: only install restores those. */
function lostIn(agent: ResolvedAgent, observation: Observation): ManualDifference[] {
  const version = judge(agent, observation).find(({ id, result }) => id === "version" && result === "fail");
  if (!version) return [];
  const { reason, fix } = version;
  const what = observation.account ? `program ${agent.paths.launcher}` : `user ${agent.user}`;
  return [{ what, reason, ...(fix !== undefined && { fix }) }];
}
