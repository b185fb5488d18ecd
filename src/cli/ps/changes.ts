import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import { hostAndName } from "../../state/agents.js";
import { oneLine } from "../../ui/plain.js";
import { channelsOf, driftOf } from "./facts.js";

/** Ignores numbers within a reason, which grow by themselves: "up for 12 s". */
export const hasChanged = (before: AgentStatus, now: AgentStatus): boolean => telling(before) !== telling(now);

function telling(found: AgentStatus): string {
  const { state, reason = "", drift, observation, wanted } = found;
  const { unit, version } = observation?.basics ?? {};
  const { connected, total } = channelsOf(found);
  return JSON.stringify([
    ...[state, wanted, reason.replace(/\d+/g, "0"), driftOf(drift), version],
    ...[unit?.MainPID, unit?.NRestarts, connected, total],
  ]);
}

/** `2026-01-02T03:04:05.000Z wolf-i/ada running -> failed: nothing listens on port 8642` */
export function lineOf({ agent, state, reason, at }: AgentStatus, before: AgentStatus | undefined): string {
  const change = before && before.state !== state ? `${before.state} -> ${state}` : state;
  return `${at} ${hostAndName(agent)} ${change}${reason ? `: ${oneLine(reason)}` : ""}`;
}
