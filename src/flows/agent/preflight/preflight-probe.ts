import { installerJob } from "../../../agents/plan/operations.js";
import type { PortQuestion } from "../../../agents/plan/ports.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { parseLines, probeScript, versionCall } from "../../../agents/probe/script.js";
import { sh } from "../../../quote.js";
import { askHost } from "../../../remote/ask-host.js";
import { unitOf } from "../../../remote/operations/jobs.js";
import type { Shell } from "../../../remote/process.js";
import library from "./preflight.sh?raw";

export interface PreflightObservation {
  programs: string[];
  account?: { uid: number; comment: string; home: string };
  /** The group with the agent's name: whether it has members. */
  group?: "used" | "empty";
  /** Its home directory exists. */
  home: boolean;
  unit?: { path: string; user: string };
  /** ActiveState of the agent's unit: `inactive` when there is none. */
  state: string;
  /** ActiveState of the installer's job: `inactive` when there is none. */
  job: string;
  listening: PortQuestion["listening"];
  /** Whether an address answers, by address; only those that were tried. */
  reach: Record<string, boolean>;
  /** The first line the launcher would print; empty when nothing is installed, undefined when it was not read. */
  version?: string;
  /** The commit of the checkout, when that was read. */
  commit?: string;
}

export interface Installation {
  agent: ResolvedAgent;
  /** The comment of the account that clm made; undefined when it made none. */
  comment?: string | undefined;
  /** An installation was begun, and may have been killed anywhere. */
  begun?: boolean | undefined;
  /** The port given by the user or the record; without it, the first free one. */
  port?: number | undefined;
  ports: Pick<PortQuestion, "range" | "recorded">;
  reach: string[];
  packages: boolean;
}

/** In one exec. The shell must be root's. */
export function probeHost(root: Shell, installation: Installation, signal: AbortSignal): Promise<PreflightObservation> {
  const { agent, reach } = installation;
  return ask(root, installation, signal, [
    sh`probe_programs ${Object.keys(agent.manifest.requires.programs)}`,
    "probe_account",
    "probe_unit",
    "probe_ports",
    `${ourVersion(agent)} &`,
    ...(reach.length > 0 ? [sh`probe_reach ${reach}`] : []),
    "wait",
  ]);
}

/** Each is empty when unknown. */
export type Release = Required<Pick<PreflightObservation, "version" | "commit">>;

type Account = Pick<Installation, "agent" | "comment">;

export async function probeRelease(root: Shell, account: Account, signal: AbortSignal): Promise<Release> {
  const { agent } = account;
  const parts = [ourVersion(agent), sh`probe_commit ${agent.paths.code}`];
  const { version = "", commit = "" } = await ask(root, account, signal, parts);
  return { version, commit };
}

const ourVersion = (agent: ResolvedAgent): string => versionCall(agent, "probe_our_version");

function ask(root: Shell, { agent, comment = "" }: Account, signal: AbortSignal, parts: string[]) {
  const job = unitOf(installerJob(agent.name));
  const script = probeScript(agent, library, [sh`job=${job} expected_comment=${comment}`, ...parts]);
  const query = { host: agent.host, what: `whether it is ready for ${agent.name}`, timeout: 120_000, signal };
  return askHost(root, script, query, parsePreflight);
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
