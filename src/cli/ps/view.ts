import { isAsIntended, type State } from "../../agents/probe/status/judge.js";
import type { AgentStatus } from "../../flows/fleet/agent-status.js";
import type { Paint } from "../../ui/paint.js";
import { size } from "../../ui/size.js";
import type { Column } from "../../ui/table.js";
import { age, duration } from "../../ui/time.js";
import { versionText } from "../agent-view.js";
import type { Context } from "../command.js";
import { channelsOf, driftOf, identityOfKey, reportedVersion } from "./facts.js";

/** The worst first. Colours say nothing that the sign and the word do not. */
const looks: Record<State, { style: keyof Paint; sign: string; ascii: string }> = {
  exposed: { style: "red", sign: "▲", ascii: "!" },
  failed: { style: "red", sign: "✖", ascii: "x" },
  gone: { style: "red", sign: "∅", ascii: "0" },
  unreachable: { style: "red", sign: "?", ascii: "?" },
  degraded: { style: "yellow", sign: "◐", ascii: "~" },
  starting: { style: "yellow", sign: "◌", ascii: ">" },
  stopped: { style: "dim", sign: "○", ascii: "-" },
  running: { style: "green", sign: "●", ascii: "+" },
};
const order = Object.keys(looks) as State[];

export const byWorst = (all: readonly AgentStatus[]): AgentStatus[] =>
  [...all].sort((a, b) => rank(a) - rank(b) || order.indexOf(a.state) - order.indexOf(b.state));

const rank = (found: AgentStatus): number => (isAsIntended(found) ? 1 : 0);

export interface ViewOptions {
  /** Signs beside the words, for a person. */
  signs?: "unicode" | "ascii" | undefined;
  now: Date;
  /** Text before the reason. */
  more?: (found: AgentStatus) => string | undefined;
  fresh?: (found: AgentStatus) => boolean;
  /** Whether the status may be outdated. */
  doubtful?: (found: AgentStatus) => boolean;
}

export const signsFor = ({ screen }: Pick<Context, "screen">): ViewOptions["signs"] =>
  screen && (screen.unicode ? "unicode" : "ascii");

/** At 80 columns name, host, state and reason are left. A person sees no column that is empty for all agents. */
export function fleetColumns(found: readonly AgentStatus[], showing: ViewOptions): Column<AgentStatus>[] {
  const all = columnsFor(showing);
  return showing.signs
    ? all.filter(({ drop, value }) => drop === undefined || found.some((each) => value(each) !== undefined))
    : all;
}

function columnsFor({
  signs,
  now,
  more = () => undefined,
  fresh,
  doubtful = () => false,
}: ViewOptions): Column<AgentStatus>[] {
  const sign = (state: State) => (signs ? `${looks[state][signs === "unicode" ? "sign" : "ascii"]} ` : "");
  return [
    {
      title: "agent",
      value: ({ agent }) => agent.name,
      whole: true,
      style: (found) => (fresh?.(found) ? "bold" : undefined),
    },
    { title: "host", value: ({ agent }) => agent.host.name, whole: true },
    {
      title: "state",
      value: (found) => `${sign(doubtful(found) ? "unreachable" : found.state)}${found.state}`,
      whole: true,
      style: (found) => (doubtful(found) ? "dim" : styleOf(found)),
    },
    { title: "up", value: upText, whole: true, drop: 12 },
    { title: "restarts", value: ({ observation }) => observation?.basics.unit.NRestarts, drop: 6 },
    { title: "version", value: versionOf, drop: 5 },
    {
      title: "memory",
      value: ({ observation }) => observation?.memory && size(observation.memory),
      whole: true,
      drop: 9,
    },
    { title: "cpu", value: cpuText, whole: true, drop: 8 },
    { title: "port", value: ({ agent }) => agent.record.port, whole: true, drop: 7 },
    { title: "unit", value: ({ observation }) => observation?.basics.unit.ActiveState, drop: 1.1 },
    { title: "health", value: ({ observation }) => observation?.basics.answers.health || undefined, drop: 1.2 },
    { title: "key", value: identityOfKey, drop: 1.3 },
    { title: "provider", value: ({ agent }) => agent.record.provider, drop: 4 },
    { title: "model", value: ({ model }) => model, drop: 3 },
    { title: "runtime", value: runtimeText, drop: 2.5 },
    { title: "channels", value: channelsText, drop: 2 },
    { title: "drift", value: driftText, whole: true, drop: 11 },
    { title: "last error", value: ({ observation }) => observation?.lastError, drop: 1 },
    {
      title: "reason",
      least: 36,
      value: (found) => [more(found), found.reason, lastSeenText(found, now)].filter(Boolean).join("; "),
    },
  ];
}

/** A stopped agent is no problem, unless it should run. */
const styleOf = ({ state, wanted }: AgentStatus): keyof Paint =>
  state === "stopped" && wanted === "run" ? "yellow" : looks[state].style;

const upText = ({ observation }: AgentStatus): string | undefined =>
  observation?.basics.age === undefined ? undefined : duration(observation.basics.age * 1000);

export const cpuText = ({ observation }: AgentStatus): string | undefined =>
  observation?.busy === undefined ? undefined : `${Math.round(observation.busy)}%`;

export function versionOf(found: AgentStatus): string | undefined {
  const version = reportedVersion(found);
  return version && versionText(version);
}

export const runtimeText = ({ agent, observation }: AgentStatus): string | undefined =>
  observation?.runtime && `${agent.record.runtime?.kind} ${observation.runtime.version || "?"}`;

function channelsText(found: AgentStatus): string | undefined {
  const { connected, total } = channelsOf(found);
  return total === 0 ? undefined : `${connected}/${total}`;
}

const driftText = ({ drift }: AgentStatus): string | undefined =>
  ({ yes: "yes", no: "no", unknown: "?", unasked: undefined })[driftOf(drift)];

export function lastSeenText({ last }: AgentStatus, now: Date): string | undefined {
  return last && `last seen ${last.state} ${age(last.at, now)} ago${last.reason ? ` (${last.reason})` : ""}`;
}

/** `20 agents on 10 hosts: 18 running, 2 failed` */
export function countText(all: readonly AgentStatus[]): string {
  const hosts = new Set(all.map(({ agent }) => agent.host.name)).size;
  const counts = [...order].reverse().flatMap((state) => {
    const count = all.filter((found) => found.state === state).length;
    return count > 0 ? [`${count} ${state}`] : [];
  });
  const many = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;
  return `${many(all.length, "agent")} on ${many(hosts, "host")}: ${counts.join(", ")}`;
}
