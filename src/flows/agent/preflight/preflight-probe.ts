import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { parseLines, probeScript, versionCall } from "../../../agents/probe/script.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Shell } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import library from "./preflight.sh?raw";

/** What a host answered about an agent that is to be installed there, or already is. */
export interface PreflightObservation {
  programs: string[];
  /** The account with the agent's name. */
  account?: { uid: number; comment: string; home: string };
  /** The group with the agent's name: whether it has members. */
  group?: "used" | "empty";
  /** Its home directory exists. */
  home: boolean;
  /** A unit with its name, and the user of that unit. */
  unit?: { path: string; user: string };
  /** ActiveState of the agent's unit: `inactive` when there is none. */
  state: string;
  /** ActiveState of the installer's job: `inactive` when there is none. */
  job: string;
  listening: Listener[];
  /** Whether an address answers, by address; only those that were tried. */
  reach: Record<string, boolean>;
  /** The first line the launcher would print; empty when nothing is installed, undefined when it was not read. */
  version?: string;
  /** The commit of the checkout, when that was read. */
  commit?: string;
}

export interface Listener {
  port: number;
  uid: number;
}

export interface ProbeTarget {
  resolved: ResolvedAgent;
  /** The comment of the account, when clm made it. */
  comment: string;
  /** The unit of the installer's job. */
  job: string;
  programs: string[];
  reach: string[];
}

/** Probes the host in one exec. The shell must be root's. */
export async function probeHost(root: Shell, target: ProbeTarget, signal?: AbortSignal): Promise<PreflightObservation> {
  const parts = [
    sh`probe_programs ${target.programs}`,
    "probe_account",
    "probe_unit",
    "probe_ports",
    `${ourVersion(target.resolved)} &`,
    ...(target.reach.length > 0 ? [sh`probe_reach ${target.reach}`] : []),
    "wait",
  ];
  return ask(root, target, parts, signal);
}

/** The installed release, read from its files. */
export interface Release {
  /** The first line the launcher would print; empty when unknown. */
  version: string;
  /** The commit of the checkout; empty when there is no checkout. */
  commit: string;
}

/** Reads the installed release in one exec. */
export async function probeRelease(root: Shell, target: ProbeTarget, signal?: AbortSignal): Promise<Release> {
  const { resolved: agent } = target;
  const parts = [ourVersion(agent), sh`probe_commit ${agent.paths.code}`];
  const { version = "", commit = "" } = await ask(root, target, parts, signal);
  return { version, commit };
}

const ourVersion = (agent: ResolvedAgent): string => versionCall(agent, "probe_our_version");

async function ask(root: Shell, { resolved: agent, comment, job }: ProbeTarget, parts: string[], signal?: AbortSignal) {
  const script = probeScript(agent, library, [sh`job=${job} mark=${comment}`, ...parts]);
  const { stdout, stderr } = await run(root, "/bin/sh -s", {
    stdin: script,
    timeout: 120_000,
    ...(signal && { signal }),
  });
  const observation = parsePreflight(stdout);
  if (observation) return observation;
  throw new Fault("unsupported", "the host could not be probed", {
    why: stderr.trim() || "its output is incomplete",
  });
}

/** Parses the output of preflight.sh; undefined when it is incomplete. */
export function parsePreflight(text: string): PreflightObservation | undefined {
  const observation: PreflightObservation = {
    programs: [],
    home: false,
    state: "inactive",
    job: "inactive",
    listening: [],
    reach: {},
  };
  const lines = parseLines(text);
  for (const [key, raw] of lines ?? []) {
    const value = raw.trim();
    const [first = "", second = ""] = value.split(" ");
    if (key === "program") observation.programs.push(value);
    else if (key === "account" && value !== "") {
      const [, , uid, , comment = "", home = ""] = value.split(":");
      observation.account = { uid: Number(uid), comment, home };
    } else if (key === "group") observation.group = value === "empty" ? "empty" : "used";
    else if (key === "home") observation.home = true;
    else if (key === "unit") observation.unit = { path: value, user: "" };
    else if (key === "unit_user" && observation.unit) observation.unit.user = value;
    else if (key === "state" && value !== "") observation.state = value;
    else if (key === "job" && value !== "") observation.job = value;
    else if (key === "listen") observation.listening.push({ port: Number.parseInt(first, 16), uid: Number(second) });
    else if (key === "reach") observation.reach[second] = first === "yes";
    else if (key === "version") observation.version = value;
    else if (key === "commit") observation.commit = value;
  }
  return lines && observation;
}
