import { isAsIntended } from "../../agents/probe/status/judge.js";
import { refusesKey, strayFix } from "../../agents/probe/status/troubles.js";
import { saysVersion } from "../../agents/probe/version-line.js";
import { errorOf } from "../../errors.js";
import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import type { Drift } from "../../flows/fleet/drift.js";
import { identityOf, nextCommand as nextToDo } from "../agent-view.js";

export function channelsOf({ agent, observation }: AgentStatus): { connected: number; total: number } {
  const seen = observation?.channels ?? {};
  const names = Object.keys(agent.record.channels ?? {});
  return { connected: names.filter((name) => seen[name]?.state === "connected").length, total: names.length };
}

export function driftOf(drift: Drift | undefined): "yes" | "no" | "unknown" | "unasked" {
  if (!drift) return "unasked";
  if ("unknown" in drift) return "unknown";
  return drift.changes.length + drift.lost.length > 0 ? "yes" : "no";
}

/** Whether the agent accepted its own key; undefined when it was not asked, or did not answer. */
export function identityOfKey({ proofs, observation }: AgentStatus): "proven" | "refused" | undefined {
  if (proofs.some(({ id, result }) => id === "auth.own-key" && result === "ok")) return "proven";
  return observation && refusesKey(observation.basics) ? "refused" : undefined;
}

/** The version of the program on the host, or what it said instead; the recorded one may differ. */
export function reportedVersion({ agent, observation, resolved }: AgentStatus): string | undefined {
  const said = observation?.basics.version;
  return resolved && said && saysVersion(resolved, said) ? agent.record.version : said;
}

/** The configured runtime, and the setting and version on the host. */
function runtimeOf({ agent, observation }: AgentStatus): object | null {
  const { runtime } = agent.record;
  return runtime
    ? {
        kind: runtime.kind,
        setting: observation?.runtime?.setting || null,
        [runtime.kind]: observation?.runtime?.version || null,
      }
    : null;
}

/** The next command to type; undefined when all is well. */
export function nextFor(found: AgentStatus): string | undefined {
  const { agent, state, wanted, drift, proofs } = found;
  const { ref, host } = agent;
  if (agent.record.status !== "installed") return nextToDo(agent);
  if (state === "unreachable") return `clm host check ${host.name}`;
  const taken = proofs.find(({ cause }) => cause === "foreign-listener");
  if (found.strays) return strayFix(ref);
  if (state === "stopped" && wanted === "run") return taken?.fix ?? `clm agent start ${ref}`;
  if (state === "stopped" && wanted === "nothing") return `clm agent configure ${ref}`;
  if (isAsIntended(found) && driftOf(drift) !== "yes") return undefined;
  if (driftOf(drift) === "yes" && (state === "degraded" || isAsIntended(found))) return `clm agent diff ${ref}`;
  return `clm agent doctor ${ref}`;
}

/** The status for JSON. Unknown values are null. */
export function factsOf(found: AgentStatus): object {
  const { agent, state, wanted, reason, at, provenAt, observation, proofs, model, drift, last, fault } = found;
  const { version: recorded, ...identity } = identityOf(agent) as { version: string };
  const { connected, total } = channelsOf(found);
  const unit = observation?.basics.unit;
  return {
    ...identity,
    onboarding: agent.record.onboarding.state,
    state,
    well: isAsIntended(found),
    wanted,
    reason: reason ?? null,
    seen_at: at,
    proven_at: provenAt ?? null,
    version: reportedVersion(found) ?? null,
    recorded_version: recorded,
    provider: agent.record.provider ?? null,
    model: model ?? null,
    proxy: agent.record.proxy ?? null,
    runtime: runtimeOf(found),
    unit: unit
      ? {
          name: agent.record.unit,
          load: unit.LoadState ?? null,
          active: unit.ActiveState ?? null,
          sub: unit.SubState ?? null,
          enabled: unit.UnitFileState ?? null,
          pid: Number(unit.MainPID ?? 0),
        }
      : null,
    health: observation?.basics.answers.health ?? null,
    identity: identityOfKey(found) ?? null,
    up_seconds: observation?.basics.age ?? null,
    restarts: unit ? Number(unit.NRestarts ?? 0) : null,
    memory_bytes: observation?.memory ?? null,
    cpu_percent: observation?.busy === undefined ? null : Math.round(observation.busy * 10) / 10,
    disk_free_kb: observation?.space?.free ?? null,
    listeners:
      observation?.basics.listeners.map(({ own, pid, user, command }) => ({ own, pid, user, command })) ?? null,
    strays: observation?.strays.first ?? null,
    strays_total: observation?.strays.count ?? null,
    channels: observation?.channels ?? null,
    channels_connected: connected,
    channels_total: total,
    drift: driftOf(drift) === "unasked" ? null : driftOf(drift),
    ...(drift && "changes" in drift && { drift_changes: drift.changes, drift_lost: drift.lost }),
    ...(drift && "unknown" in drift && { drift_unknown: drift.unknown }),
    last_error: observation?.lastError ?? null,
    reach: observation?.reach ?? null,
    other_reach: observation?.others ?? null,
    proofs,
    ...(last && { last_seen: last }),
    ...(fault && { error: errorOf(fault) }),
    next: nextFor(found) ?? null,
  };
}
