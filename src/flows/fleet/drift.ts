import { loadType } from "../../agents/manifest/registry.js";
import { type Change, changesOf } from "../../agents/plan/change.js";
import { desiredState } from "../../agents/plan/desired-state.js";
import { withDetails } from "../../agents/plan/details.js";
import { type Lost, orLoss } from "../../agents/plan/manual-fix.js";
import { accountWish, unitWish } from "../../agents/plan/operations.js";
import { changesIn, mustBeOurs, planFor, recordedServiceState } from "../../agents/plan/plan.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { unitFile } from "../../agents/plan/unit-file.js";
import { judge } from "../../agents/probe/proof/judge.js";
import type { Observation } from "../../agents/probe/proof/observation.js";
import { proxyOperations } from "../../agents/proxy/unit.js";
import { asFault, type Fault } from "../../errors.js";
import { converge, type Report } from "../../remote/operations/converge.js";
import type { Operation } from "../../remote/operations/operation.js";
import type { Shell } from "../../remote/process.js";
import type { Agent } from "../../state/agents.js";
import { answersFor } from "../agent/answers.js";
import { mustBeInstalled } from "../agent/preconditions.js";
import { hideSecrets } from "../hide-secrets.js";
import type { Session } from "../session.js";

/** In what an agent is not as it was configured; or why that cannot be told. */
export type Drift = { changes: Change[]; lost: Lost[] } | { unknown: string; fault: Fault };

/** An agent, and what its host told of it. */
export interface Told {
  agent: Agent;
  seen: Observation;
}

// Looking at a file takes no time; a host that is slow to answer does.
const patience = 60_000;

/**
 * What configure would change, for all agents of a host at once: the same operations in check mode, as one list. With a
 * salt, the one that `seen` was made with, variables of `.env` that differ are named.
 */
export async function driftOnHost(
  session: Session,
  root: Shell,
  told: readonly Told[],
  { salt, timeout = patience }: { salt: string; timeout?: number },
): Promise<Drift[]> {
  const showing = { redact: (text: string) => session.ui.redact(text), secrets: hideSecrets(session) };
  const looks = await Promise.all(told.map((each) => lookFor(session, each, salt, showing)));
  const wish = looks.flatMap((look) => ("wish" in look ? look.wish : []));
  const check = { mode: "check" as const, signal: session.signal, timeout: Math.min(timeout, patience) };
  const found = wish.length > 0 ? await converge(root, wish, check).catch(unknownBy) : { results: [] };
  session.signal.throwIfAborted();
  let from = 0;
  return looks.map((look) => {
    if (!("wish" in look)) return look;
    if ("unknown" in found) return found;
    const part = found.results.slice(from, from + look.wish.length);
    from += look.wish.length;
    return { changes: look.read({ results: part, changed: 0, pending: 0 }), lost: look.lost };
  });
}

/** Operations to look at, and how to read what comes of them. */
interface Look {
  wish: Operation[];
  lost: Lost[];
  read: (report: Report) => Change[];
}

async function lookFor(
  session: Session,
  { agent, seen }: Told,
  salt: string,
  showing: Parameters<typeof withDetails>[2],
): Promise<Look | Drift> {
  try {
    mustBeInstalled(agent);
    const { record } = agent;
    const { manifest } = await loadType(session.configDir, record.type);
    const resolved = resolvedAgent(manifest, agent);
    const lost = lostIn(resolved, seen);
    if (!seen.account) return { changes: [], lost };
    const answers = record.rendered && (await answersFor(session, resolved, record));
    const serviceState = recordedServiceState(record);
    const plan = orLoss(() =>
      answers
        ? planFor(agent, desiredState(manifest, agent, record, answers), { seen, salt, serviceState })
        : { wish: installedWish(resolved, seen, record.mark) },
    );
    if ("reason" in plan) return { changes: [], lost: [...lost, plan] };
    if (!("rendering" in plan)) return { ...plan, lost, read: changesOf };
    const service = unitFile(resolved, seen.systemd);
    const read = (report: Report) =>
      changesIn(plan, report).map((change) => withDetails(change, { ...plan, service }, showing));
    return { wish: plan.wish, lost, read };
  } catch (error) {
    return unknownBy(error);
  }
}

export function unknownBy(error: unknown): Extract<Drift, { unknown: string }> {
  const fault = asFault(error);
  return { unknown: [fault.message, ...fault.why].join(": "), fault };
}

/** What install left, of an agent that was not taken over: what is in its two files is nobody's business yet. */
export function installedWish(resolved: ResolvedAgent, seen: Observation, mark: string | undefined): Operation[] {
  mustBeOurs(resolved, seen, mark);
  const { enabled: _, ...unit } = unitWish(resolved, seen.systemd);
  const proxy = proxyOperations(resolved, seen.systemd);
  return mark === undefined ? proxy : [...accountWish(resolved, mark), unit, ...proxy];
}

/** Its account and its program: clm wishes for both only when it installs. */
function lostIn(resolved: ResolvedAgent, seen: Observation): Lost[] {
  const version = judge(resolved, seen).find(({ id, result }) => id === "version" && result === "fail");
  if (!version) return [];
  const { reason, fix } = version;
  const what = seen.account ? `program ${resolved.paths.launcher}` : `user ${resolved.user}`;
  return [{ what, reason, ...(fix !== undefined && { fix }) }];
}
