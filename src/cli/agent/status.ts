import { brief } from "../../agents/probe/proof/judge.js";
import { isAsIntended } from "../../agents/probe/status/judge.js";
import type { Reach } from "../../agents/probe/status/observation.js";
import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import type { Drift } from "../../flows/fleet/drift.js";
import { withSession } from "../../flows/session.js";
import { providersOf } from "../../state/agent.js";
import { size } from "../../ui/size.js";
import { duration } from "../../ui/time.js";
import { checkView, versionText } from "../agent-view.js";
import type { Context, Handler } from "../command.js";
import { describe } from "../describe.js";
import { changeText } from "../print-result.js";
import { channelsOf, factsOf, nextFor } from "../ps/facts.js";
import { connectTimeout, probeWith } from "../ps/ps.js";
import { cpuText, lastSeenText, runtimeText, versionOf } from "../ps/view.js";
import { chooseAgents, namesOneAgent } from "../run-on-agents.js";
import type { status } from "./commands.js";

export const run: Handler<typeof status> = async ({ args, options }, clm) => {
  const { noDrift } = options;
  const agents = chooseAgents(clm, args.names, options);
  const found = await withSession({ ...clm, timeout: connectTimeout }, (session) =>
    probeWith(clm, session, agents, !noDrift),
  );
  const lone = namesOneAgent(args.names) ? found[0] : undefined;
  if (clm.format === "name") clm.ui.out(found.map(({ agent }) => `${agent.ref}\n`).join(""));
  else if (clm.format !== "table") clm.show(lone ? factsOf(lone) : found.map(factsOf));
  else for (const [at, each] of found.entries()) showOne(clm, each, at > 0);
  return found.every(isAsIntended) ? 0 : 1;
};

function showOne(clm: Context, found: AgentStatus, apart: boolean): void {
  if (apart) clm.ui.out("\n");
  clm.show(undefined, () => describeStatus(found, clm.now()));
  if (found.proofs.length === 0) return;
  clm.ui.out("\n");
  clm.list(found.proofs, checkView);
}

export function describeStatus(found: AgentStatus, now: Date): string {
  const { agent, state, reason, at, observation, model, drift } = found;
  const { record, host } = agent;
  const unit = observation?.basics.unit ?? {};
  const seen = versionOf(found);
  return describe(12, [
    ["Agent", `${agent.name} on ${host.name} (${record.type})`],
    ["State", state],
    ["Reason", reason],
    ["Seen", observation ? at : lastSeenText(found, now)],
    [
      "Version",
      seen === versionText(record.version) ? seen : `${seen ?? "unknown"}, recorded ${versionText(record.version)}`,
    ],
    [
      "Unit",
      observation && [record.unit, unit.ActiveState, unit.SubState, unit.UnitFileState].filter(Boolean).join(", "),
    ],
    ["Up", observation?.basics.age === undefined ? undefined : duration(observation.basics.age * 1000)],
    ["Restarts", observation && (unit.NRestarts ?? "0")],
    ["Memory", observation?.memory === undefined ? undefined : size(observation.memory)],
    ["CPU", cpuText(found)],
    ["Disk", diskText(found)],
    ["Port", portText(found)],
    ["Provider", [record.provider, model].filter(Boolean).join(", ")],
    ["Reached", indented(reachLines(found))],
    [
      "Proxy",
      record.proxy && `${record.proxy.provider}, 127.0.0.1:${record.proxy.port}; clm agent proxy status ${agent.ref}`,
    ],
    ["Runtime", record.runtime && (runtimeText(found) ?? "the agent's own")],
    ["Channels", indented(channelLines(found))],
    ["Drift", indented(driftLines(drift))],
    ["Last error", observation?.lastError],
    ["Next", nextFor(found)],
  ]);
}

const indented = (lines: string[]): string => lines.join(`\n${" ".repeat(13)}`);

function diskText({ observation }: AgentStatus): string | undefined {
  if (observation?.full) return observation.full === "blocks" ? "full" : "no inodes left";
  return observation?.space && `${size(observation.space.free * 1024)} free`;
}

function portText({ agent, observation }: AgentStatus): string {
  const { port } = agent.record;
  if (!observation) return String(port);
  const holders = observation.basics.listeners.map(({ own, pid, user, command }) =>
    own ? `its own process ${pid}` : pid === 0 ? "an unknown process" : `${command}, pid ${pid}, user ${user}`,
  );
  return `${port}, held by ${holders.join(" and ") || "no process"}`;
}

/** The agent's own provider first. The manifest has no address for some providers. */
function reachLines({ agent, observation }: AgentStatus): string[] {
  if (!observation || agent.record.provider === undefined) return [];
  const others = [...new Set(providersOf(agent.record))].filter((name) => name !== agent.record.provider);
  return [reachText(observation.reach), ...others.map((name) => `${name}: ${reachText(observation.others?.[name])}`)];
}

function reachText(reach: Reach | undefined): string {
  if (!reach) return "not checked: its address is unknown";
  return "trouble" in reach ? `no: ${reach.trouble}` : `yes, from the host (${reach.status})`;
}

function channelLines(found: AgentStatus): string[] {
  const { connected, total } = channelsOf(found);
  const seen = found.observation?.channels ?? {};
  const lines = [...new Set([...Object.keys(found.agent.record.channels ?? {}), ...Object.keys(seen)])].map((name) => {
    const { state = "unknown", error } = seen[name] ?? {};
    return `${name}: ${state}${error ? ` (${brief(error)})` : ""}`;
  });
  return total > 0 ? [`${connected} of ${total} connected`, ...lines] : lines;
}

function driftLines(drift: Drift | undefined): string[] {
  if (!drift) return [];
  if ("unknown" in drift) return [`unknown: ${drift.unknown}`];
  const lines = [...drift.lost.map(({ what, reason }) => `${what}: ${reason}`), ...drift.changes.map(changeText)];
  return lines.length > 0 ? ["not as configured", ...lines] : ["as configured"];
}
