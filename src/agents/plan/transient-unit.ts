import { randomBytes } from "node:crypto";
import { quote, sh } from "../../quote.js";
import { environmentOf } from "./account.js";
import reader from "./env-reader.sh?raw";
import type { ResolvedAgent } from "./resolved-agent.js";
import { type Confined, sandboxDirectives } from "./unit-file.js";

/** The user to run as, and its sandbox. */
export type RunAs = Confined & Pick<ResolvedAgent, "user" | "name">;

export interface TransientUnit {
  resolved: RunAs;
  unit: string;
  /** A file that must exist for the unit to start. */
  sign?: string;
  /** Run with the variables of `.env`. */
  env: boolean;
  /** `pipe`: connect the caller's streams. `pty`: run it on a terminal. */
  streams: "pipe" | "pty";
  words: string[];
  properties?: string[];
  /** Variables added to, or overriding, those of the service. */
  variables?: Record<string, string>;
}

/**
 * Runs words as the agent's user in a unit with the sandbox and environment of its service; all it starts ends with it.
 * Programs that the agent owns must not run in any other way: outside they have the host's /tmp, see every process and
 * may gain privileges. Secrets come from `.env`, read inside with the agent's rights, never from arguments.
 */
export function transientUnit(transient: TransientUnit): string {
  const { resolved: agent, unit, sign, env, streams, words, properties: more = [], variables = {} } = transient;
  const { user, paths, name, manifest } = agent;
  const environment = { ...environmentOf(agent), ...variables };
  const settings = Object.entries(environment).map(([key, value]) => `--setenv=${key}=${value}`);
  const properties = [
    `User=${user}`,
    `WorkingDirectory=${paths.home}`,
    "UMask=0077",
    "TimeoutStopSec=5",
    // Only directives that every supported systemd knows.
    ...sandboxDirectives(agent, manifest.requires.systemd),
    // Filtered calls fail instead of killing: bash on a terminal calls setresuid when it starts (seen with 252 and 257).
    "SystemCallErrorNumber=EPERM",
    ...(sign ? [`AssertPathExists=${sign}`] : []),
    ...more,
  ];
  const mode = [`--${streams}`, "--wait", "--collect", "--quiet", "--no-ask-password", "--service-type=exec"];
  const labels = [`--unit=${unit}`, `--description=clm in ${name}`];
  const all = ["systemd-run", ...mode, ...labels, ...settings, ...properties.map((each) => `--property=${each}`), "--"];
  const command = env ? ["/bin/sh", "-c", envReader, "sh", paths.env, ...words] : words;
  return `exec ${sh`${all}`} ${command.map((word) => quote(literal(word))).join(" ")}`;
}

const envReader = reader.replace(/^#.*\n/gm, "");

/** For a short program without secrets: killed after so many seconds, and all it leaves behind when it ends. */
export const oneShotUnit = (
  agent: RunAs,
  { seconds, ...program }: Pick<TransientUnit, "words" | "variables"> & { seconds: number },
): string =>
  transientUnit({
    resolved: agent,
    unit: `clm-run-${randomBytes(8).toString("hex")}.service`,
    env: false,
    streams: "pipe",
    ...program,
    properties: [`RuntimeMaxSec=${seconds}`, "KillSignal=SIGKILL", "TasksMax=256"],
  });

/** systemd expands variables in a command's arguments (seen with 252 and 257: `$$` arrives as `$`). */
const literal = (word: string): string => word.replaceAll("$", "$$$$");

/** A single word is a shell command line; several are passed as they are. */
export const wordsOf = (command: string[]): string[] =>
  command.length === 1 ? ["/bin/sh", "-c", command[0] ?? ""] : command;

/**
 * Prints `proof` on stderr when it starts, and turns a signal into an exit code: systemd-run exits with 0 when an
 * assertion kept the unit from starting, and when SIGTERM or SIGPIPE ended it.
 */
export const announced = (proof: string, words: string[]): string[] => [
  "/bin/sh",
  "-c",
  `trap "exit 143" TERM; echo ${proof} >&2; "$@"; exit $?`,
  "sh",
  ...words,
];

/** Opening /dev/stdout reopens a pipe of sshd or sudo, which belongs to another user. */
export const chownPipes = (user: string): string =>
  sh`for fd in 0 1 2; do [ ! -p /dev/fd/$fd ] || chown ${user} /dev/fd/$fd; done`;
