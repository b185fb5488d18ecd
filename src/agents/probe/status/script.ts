import { sh } from "../../../quote.js";
import { environmentOf } from "../../plan/account.js";
import { proxyUnit } from "../../plan/proxy.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { activeRuntime } from "../../plan/runtime.js";
import { proofLibrary } from "../proof/library.js";
import { type PlanInputs, serverCalls } from "../proof/script.js";
import { apiSettings, filesCalls, type OwnPart, probeScriptForMany, serviceCall, settingsOf } from "../script.js";
import library from "./status.sh?raw";

export interface ProbeTarget {
  resolved: ResolvedAgent;
  /** The address of its model provider, without credentials. */
  reach?: string | undefined;
  /** The same for its other providers, by name. */
  others?: Record<string, string> | undefined;
  /** Also probe the inputs of a plan. */
  planned?: PlanInputs | undefined;
}

/** Probes all agents of a host at once. Their keys are the first lines of its stdin, in the same order. */
export function statusScript(agents: readonly ProbeTarget[]): string {
  return scriptOf([...agents.map((_, at) => `IFS= read -r key_${at}`), everyone], agents.map(section));
}

/** Detects changes since a full probe. It needs no key, tries no wrong one, and starts no program. */
export const quickStatusScript = (agents: readonly ProbeTarget[]): string =>
  scriptOf([everyone], agents.map(quickSection));

/** Probes configuration drift. It sends no requests, so it needs no key. */
export const driftScript = (agents: readonly ProbeTarget[]): string => scriptOf([], agents.map(driftSection));

const scriptOf = (first: string[], sections: string[]): string =>
  probeScriptForMany(proofLibrary + library, first, sections);

const straysCall = (agent: ResolvedAgent): string => {
  const { manifest, unit } = agent;
  return sh`probe_strays ${[unit, ...(manifest.proxy ? [proxyUnit(agent, manifest.proxy)] : [])]}`;
};

/** Finds only processes of a user outside these units. */
export const straysScript = (user: string, units: string[]): string =>
  scriptOf([everyone], [`${sh`user=${user}`}\nprobe_account\n${sh`probe_strays ${units}`}`]);

/** Every process of the host with its user, listed once for all agents. */
const everyone = "everyone=$(stat -c %u:%n /proc/[0-9]* 2>/dev/null)";

function section(target: ProbeTarget, at: number): string {
  const { resolved: agent, planned } = target;
  const parts: OwnPart[] = ["version", "gateway", "error"];
  if (planned) parts.push("variable");
  const files = filesCalls(agent, parts, { texts: planned?.texts, touched: true });
  return [
    settingsOf(agent),
    apiSettings(agent),
    sh`chat='' salt=${planned?.salt ?? ""}`,
    `key=$key_${at}`,
    // An agent that hangs must not use up the time of its host, which would be reported as unreachable.
    "answer_seconds=6",
    "probe_account",
    reaching(target),
    ...runtimeCall(agent),
    ...(planned ? ["probe_plan_inputs"] : []),
    files.probe,
    "probe_unit",
    straysCall(agent),
    "probe_usage cpu.first",
    "probe_disk_space",
    ...files.read,
    ...serverCalls(agent),
    "probe_journal_tail",
    "probe_open_ports",
    serviceCall(agent),
    "probe_reach_results",
    "wait",
    "probe_usage cpu.last",
  ].join("\n");
}

function driftSection({ resolved: agent, planned }: ProbeTarget): string {
  const files = filesCalls(agent, ["version", "variable"], { texts: planned?.texts });
  return [
    settingsOf(agent),
    sh`salt=${planned?.salt ?? ""}`,
    "probe_account",
    "probe_plan_inputs",
    files.probe,
    "probe_unit",
    ...files.read,
  ].join("\n");
}

function quickSection(target: ProbeTarget): string {
  const { resolved: agent, planned } = target;
  const files = filesCalls(agent, ["gateway"], { texts: planned?.texts, touched: true });
  return [
    settingsOf(agent),
    apiSettings(agent),
    "answer_seconds=3",
    "probe_account",
    reaching(target),
    files.probe,
    "probe_unit",
    straysCall(agent),
    "probe_usage cpu.first",
    "probe_disk_space",
    ...files.read,
    "probe_open_ports",
    "probe_port",
    ...(agent.serves === "http" ? ["probe_health"] : []),
    "probe_reach_results",
  ].join("\n");
}

const runtimeCall = (agent: ResolvedAgent): string[] => {
  const runtime = activeRuntime(agent);
  if (!runtime) return [];
  return [
    sh`search=${environmentOf(agent).PATH ?? ""} config=${agent.paths.config ?? ""}`,
    sh`probe_runtime ${runtime.program} ${runtime.key} &`,
  ];
};

const reaching = ({ reach = "", others = {} }: ProbeTarget): string =>
  sh`probe_reach ${[...(reach ? ["", reach] : []), ...Object.entries(others).flat()]}`;
