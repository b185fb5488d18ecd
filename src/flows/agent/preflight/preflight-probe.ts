import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { lookScript, saidIn, versionCall } from "../../../agents/probe/script.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Shell } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import library from "./preflight.sh?raw";

/** What a host said about an agent that is to come, or to be there already. */
export interface Seen {
  programs: string[];
  /** The account that has the agent's name. */
  account?: { uid: number; comment: string; home: string };
  /** The group that has the agent's name: whether anybody is in it. */
  group?: "used" | "empty";
  /** Something stands where its home would be. */
  home: boolean;
  /** A unit of its name, and the user that unit runs as. */
  unit?: { path: string; user: string };
  /** What systemd says of the agent's unit: `inactive` when there is none. */
  state: string;
  /** What systemd says of the installer's job: `inactive` when there is none. */
  job: string;
  listening: Listener[];
  /** Whether each address answers; those that were not asked are not in it. */
  reach: Record<string, boolean>;
  /** What is installed, as the launcher's first line would be; empty when nothing is installed, undefined when it was not read. */
  version?: string;
  /** The commit of the checkout, when that was looked at. */
  commit?: string;
}

export interface Listener {
  port: number;
  uid: number;
}

export interface Sight {
  resolved: ResolvedAgent;
  /** The account's comment, when it is one that clm made. */
  comment: string;
  /** The unit of the installer's job. */
  job: string;
  programs: string[];
  reach: string[];
}

/** Looks at the host, in one exec. The shell must be root's. */
export async function see(root: Shell, sight: Sight, signal?: AbortSignal): Promise<Seen> {
  const parts = [
    sh`see_programs ${sight.programs}`,
    "see_account",
    "see_unit",
    "see_ports",
    `${ourVersion(sight.resolved)} &`,
    ...(sight.reach.length > 0 ? [sh`see_reach ${sight.reach}`] : []),
    "wait",
  ];
  return ask(root, sight, parts, signal);
}

/** What is installed, by its files. */
export interface Release {
  /** As the launcher's first line would be; empty when it cannot be told. */
  version: string;
  /** The commit of the checkout; empty when there is no checkout. */
  commit: string;
}

/** Looks at what is installed, in one exec. */
export async function seeRelease(root: Shell, sight: Sight, signal?: AbortSignal): Promise<Release> {
  const { resolved: agent } = sight;
  const parts = [ourVersion(agent), sh`see_commit ${agent.paths.code}`];
  const { version = "", commit = "" } = await ask(root, sight, parts, signal);
  return { version, commit };
}

const ourVersion = (agent: ResolvedAgent): string => versionCall(agent, "see_our_version");

async function ask(root: Shell, { resolved: agent, comment, job }: Sight, parts: string[], signal?: AbortSignal) {
  const script = lookScript(agent, library, [sh`job=${job} mark=${comment}`, ...parts]);
  const { stdout, stderr } = await run(root, "/bin/sh -s", {
    stdin: script,
    timeout: 120_000,
    ...(signal && { signal }),
  });
  const seen = seenFrom(stdout);
  if (seen) return seen;
  throw new Fault("unsupported", "the host could not tell about itself", {
    why: stderr.trim() || "its answer broke off",
  });
}

/** Reads the lines of preflight.sh; nothing when they do not go to the end. */
export function seenFrom(text: string): Seen | undefined {
  const seen: Seen = { programs: [], home: false, state: "inactive", job: "inactive", listening: [], reach: {} };
  const said = saidIn(text);
  for (const [key, raw] of said ?? []) {
    const value = raw.trim();
    const [first = "", second = ""] = value.split(" ");
    if (key === "program") seen.programs.push(value);
    else if (key === "account" && value !== "") {
      const [, , uid, , comment = "", home = ""] = value.split(":");
      seen.account = { uid: Number(uid), comment, home };
    } else if (key === "group") seen.group = value === "empty" ? "empty" : "used";
    else if (key === "home") seen.home = true;
    else if (key === "unit") seen.unit = { path: value, user: "" };
    else if (key === "unit_user" && seen.unit) seen.unit.user = value;
    else if (key === "state" && value !== "") seen.state = value;
    else if (key === "job" && value !== "") seen.job = value;
    else if (key === "listen") seen.listening.push({ port: Number.parseInt(first, 16), uid: Number(second) });
    else if (key === "reach") seen.reach[second] = first === "yes";
    else if (key === "version") seen.version = value;
    else if (key === "commit") seen.commit = value;
  }
  return said && seen;
}
