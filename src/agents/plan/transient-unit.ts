import { randomBytes } from "node:crypto";
import { quote, sh } from "../../quote.js";
import reader from "./env-reader.sh?raw";
import { environmentOf } from "./environment.js";
import type { ResolvedAgent } from "./resolved-agent.js";
import { type Confined, hardeningOf } from "./unit-file.js";

/** Who is run as, and what closes that in. */
export type RunAs = Confined & Pick<ResolvedAgent, "user" | "name">;

export interface TransientUnit {
  resolved: RunAs;
  unit: string;
  /** A file that must be there when it begins. */
  sign?: string;
  /** Its `.env` is there. */
  env: boolean;
  /** `pipe`: our streams are its own. `pty`: it has a terminal, which is shown on ours. */
  streams: "pipe" | "pty";
  words: string[];
  /** More properties of the unit. */
  properties?: string[];
  /** More variables, or others than the service has. */
  variables?: Record<string, string>;
}

/**
 * The command that runs words as the agent's user with its environment: as the agent's own service would, with the same sandbox, and in
 * a unit, so that all it starts ends with it. Nothing that an agent owns may be run in any other way: what runs outside has the host's
 * /tmp, sees every process and may gain rights. Secrets come from `.env`, which is read inside, with the agent's rights; none is an argument.
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
    // What every systemd knows that clm installs on.
    ...hardeningOf(agent, manifest.requires.systemd),
    // A call that is filtered fails instead of killing: bash on a terminal tries one when it starts (setresuid, seen at 252 and 257).
    "SystemCallErrorNumber=EPERM",
    ...(sign ? [`AssertPathExists=${sign}`] : []),
    ...more,
  ];
  const how = [`--${streams}`, "--wait", "--collect", "--quiet", "--no-ask-password", "--service-type=exec"];
  const said = [`--unit=${unit}`, `--description=clm in ${name}`];
  const all = ["systemd-run", ...how, ...said, ...settings, ...properties.map((each) => `--property=${each}`), "--"];
  const command = env ? ["/bin/sh", "-c", envReader, "sh", paths.env, ...words] : words;
  return `exec ${sh`${all}`} ${command.map((word) => quote(literal(word))).join(" ")}`;
}

const envReader = reader.replace(/^#.*\n/gm, "");

export interface OneShotUnit {
  words: string[];
  /** All of it is killed then. */
  seconds: number;
  variables?: Record<string, string>;
}

/** The same for a program that answers a question and ends: whatever it leaves behind is killed when it ends. It has no secrets. */
export const oneShotUnit = (agent: RunAs, { words, seconds, variables }: OneShotUnit): string =>
  transientUnit({
    ...{
      resolved: agent,
      unit: `clm-run-${randomBytes(8).toString("hex")}.service`,
      env: false,
      streams: "pipe",
      words,
    },
    properties: [`RuntimeMaxSec=${seconds}`, "KillSignal=SIGKILL", "TasksMax=256"],
    ...(variables && { variables }),
  });

/** systemd puts variables into the words of a command (seen at 252 and 257: `$$` arrives as `$`). */
const literal = (word: string): string => word.replaceAll("$", "$$$$");

/** One word is read by a shell, several are passed on as they are. */
export const wordsOf = (command: string[]): string[] =>
  command.length === 1 ? ["/bin/sh", "-c", command[0] ?? ""] : command;

/**
 * Says on stderr that it began, and turns a signal into a code, also one to all of the unit: systemd-run ends with 0 when the
 * unit was not started for an assertion, and when SIGTERM or SIGPIPE ended it.
 */
export const announced = (proof: string, words: string[]): string[] => [
  ...["/bin/sh", "-c", `trap "exit 143" TERM; echo ${proof} >&2; "$@"; exit $?`, "sh"],
  ...words,
];

/** Whoever opens /dev/stdout opens a pipe of sshd's or sudo's again, which belongs to somebody else. */
export const chownPipes = (user: string): string =>
  sh`for fd in 0 1 2; do [ ! -p /dev/fd/$fd ] || chown ${user} /dev/fd/$fd; done`;
