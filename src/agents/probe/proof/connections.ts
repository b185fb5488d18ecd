import { defined } from "../../../text/defined.js";
import { own } from "../../../text/own-property.js";
import { fail, ok, warn } from "../../check.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { brief } from "./judge.js";
import type { Observation } from "./observation.js";
import type { ProofVerdict } from "./proof.js";

/** A channel as the agent last wrote it to gateway_state.json. */
export interface ChannelState {
  state: string;
  error?: string;
  /** Milliseconds since 1970; undefined when the entry has no time. */
  updated?: number;
}

/** When the main process started, in milliseconds since 1970. `Wed 2026-11-18 00:32:11.123456 UTC` */
export function startedAt({ unit }: Pick<Observation, "unit">): number | undefined {
  const [, day, time] =
    /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) UTC$/.exec(unit.ExecMainStartTimestamp ?? "") ?? [];
  const at = Date.parse(`${day}T${time}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** The entries that this process wrote: those of earlier processes stay in the file. */
export function currentChannels(
  seen: Pick<Observation, "unit" | "channels">,
): Record<string, Omit<ChannelState, "updated">> {
  const began = startedAt(seen);
  if (began === undefined) return {};
  // Some versions write whole seconds only.
  const isCurrent = ({ updated }: ChannelState) =>
    updated !== undefined && updated >= (updated % 1000 === 0 ? Math.floor(began / 1000) * 1000 : began);
  const current = Object.entries(seen.channels ?? {}).filter(([, entry]) => isCurrent(entry));
  return Object.fromEntries(current.map(([name, { updated: _, ...entry }]) => [name, entry]));
}

const channelStates = new Set(["connecting", "connected", "retrying", "disconnected", "fatal"]);

/**
 * Hides secrets before anything is cut: half a secret is not recognised. Names of channels and states that clm compares
 * stay: a secret may be the word `connected`.
 */
export function withoutSecretsIn(
  { channels, serverLines }: Observation,
  redact: (text: string) => string,
  agent: Pick<ResolvedAgent, "channels">,
): Pick<Observation, "channels" | "serverLines"> {
  const clean = Object.entries(channels ?? {}).map(([name, { state, error, updated }]): [string, ChannelState] => [
    agent.channels.includes(name) ? name : redact(name),
    defined({ state: channelStates.has(state) ? state : redact(state), error: error && redact(error), updated }),
  ]);
  return {
    ...(channels && { channels: Object.fromEntries(clean) }),
    ...(serverLines && { serverLines: serverLines.map(redact) }),
  };
}

/** The configured channels that are not connected. One with pairing cannot connect until a person has paired it. */
export function channelsOff(agent: ResolvedAgent, seen: Observation) {
  const channels = currentChannels(seen);
  return agent.channels.flatMap((name) => {
    const { state = "not connected yet", error } = own(channels, name) ?? {};
    if (state === "connected") return [];
    const isPairing = agent.manifest.channels[name]?.pairing === true;
    return [{ name, state, how: `${state}${error ? `: ${brief(error)}` : ""}`, isPairing }];
  });
}

/** Every configured channel is connected. */
export function judgeChannels(agent: ResolvedAgent, seen: Observation): ProofVerdict {
  const off = channelsOff(agent, seen);
  if (off.length === 0) return ok(`${agent.channels.join(", ")} connected`);
  const reason = off.map(({ name, how }) => `${name} is ${how}`).join("; ");
  const fix = `clm agent configure ${agent.ref} --stage channels`;
  if (off.every(({ isPairing }) => isPairing)) return warn(reason, fix);
  return { ...fail(reason, fix), cause: off.some(({ state }) => state === "fatal") ? "refused" : "connecting" };
}

/** The agent gave up none of its configured MCP servers. */
export function judgeServers(agent: ResolvedAgent, seen: Observation): ProofVerdict {
  const lost = lostServers(agent, seen);
  if (lost.length === 0) return ok(`${agent.servers.join(", ")}: not given up`);
  const reason = lost.map(({ name, why }) => `MCP server ${name}: ${brief(why)}`).join("; ");
  return fail(reason, `clm agent configure ${agent.ref} --stage channels`);
}

/** The configured servers that were given up and did not connect since, by the log: no file or API reports it. */
export function lostServers({ manifest, servers }: ResolvedAgent, seen: Pick<Observation, "serverLines">) {
  const { mcp_log: log } = manifest;
  if (!log) return [];
  const [given, connected] = [new RegExp(log.lost, "u"), new RegExp(log.connected, "u")];
  const lost = new Map<string, { name: string; why: string }>();
  // Two files have them, both with the time in front.
  for (const line of [...(seen.serverLines ?? [])].sort()) {
    const { name = "", why = "" } = given.exec(line)?.groups ?? {};
    if (name !== "") lost.set(name, { name, why });
    const back = connected.exec(line)?.groups?.name;
    if (back !== undefined) lost.delete(back);
  }
  return servers.flatMap((name) => lost.get(name) ?? []);
}
