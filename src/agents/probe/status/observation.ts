import { defined } from "../../../text/defined.js";
import { currentChannels } from "../proof/connections.js";
import { type Observation, parseObservation } from "../proof/observation.js";
import { allIn, type ProbeLine, parseLines, splitSections } from "../script.js";

export interface StatusObservation {
  basics: Observation;
  /** Bytes of its control group. */
  memory?: number;
  /** Percent of one processor during the probe. */
  busy?: number;
  /** CPU use of its control group: hundredths of a second since the host started, and microseconds of work. */
  use?: { at: number; work: number };
  /** Kilobytes and inodes of its file system; without inodes where it counts none. */
  space?: { free: number; inodes: number; freeInodes: number };
  /** No space left: kilobytes, or inodes on a file system that counts them. */
  full?: "blocks" | "inodes";
  /** Channels as the running process reports them, by name. */
  channels: Record<string, { state: string; error?: string }>;
  /** The last error since its start. */
  lastError?: string;
  /** Log lines about that, and before it ended. */
  words: string[];
  /** Whether its model provider can be reached from the host. */
  reach?: Reach;
  /** The same of fallback and auxiliary providers, by name. */
  others?: Record<string, Reach>;
  /** When another program runs its turns: the runtime that config.yaml selects, and the version of the program. */
  runtime?: { setting: string; version: string };
  /** Processes of its user that run outside its units: the first of them, and how many there are. */
  strays: { count: number; first: Stray[] };
  /** Changes when a file that the proofs depend on does. */
  touched?: string;
}

/** A process of an agent's user outside the agent's units. It chose the text of its command itself. */
export interface Stray {
  pid: number;
  command: string;
}

/** Whether a provider can be reached: an HTTP status, or why there is none. */
export type Reach = { status: number } | { trouble: string };

/** Parses the output of status.sh, by the numbers of the agents; undefined for an incomplete section. */
export const parseStatusObservations = (text: string, count: number): (StatusObservation | undefined)[] =>
  splitSections(text, count).map(statusObservationFrom);

function statusObservationFrom(text: string): StatusObservation | undefined {
  const seen = parseObservation(text);
  if (!seen) return undefined;
  const lines = parseLines(text) ?? [];
  const said = new Map(lines);
  const [first, last] = [numbers(said.get("cpu.first")), numbers(said.get("cpu.last"))];
  const [at, work] = last.length > 0 ? last : first;
  const errors = allIn(lines, "error");
  const program = said.get("runtime-version");
  const reaches = lines.flatMap(([key, value]): [string, Reach][] => {
    const [word, name = ""] = key.split(/\.(.*)/s);
    return word === "reach" ? [[name, reachFrom(value, said.get(name ? `reach-status.${name}` : "reach-status"))]] : [];
  });
  const { "": reach, ...others } = Object.fromEntries(reaches);
  return {
    basics: seen,
    channels: currentChannels(seen),
    words: [...errors, ...seen.words],
    strays: straysIn(lines),
    ...spaceFrom(numbers(said.get("disk"))),
    ...defined({
      memory: Number(said.get("memory")) || undefined,
      busy: busyBetween(first, last),
      use: at === undefined || work === undefined ? undefined : { at, work },
      lastError: errors.at(-1) || undefined,
      reach,
      others: Object.keys(others).length > 0 ? others : undefined,
      runtime: program === undefined ? undefined : { setting: said.get("runtime") ?? "", version: versionIn(program) },
      touched: said.get("touched") || undefined,
    }),
  };
}

/** Empty when the program is not installed; `unknown` when it is and its version cannot be read. */
const versionIn = (text: string): string => (text === "unknown" ? text : (/\d+\.\d+\.\d+/.exec(text)?.[0] ?? ""));

/** Undefined when the output broke off. */
export function straysFrom(text: string): StatusObservation["strays"] | undefined {
  const lines = parseLines(splitSections(text, 1).join());
  return lines && straysIn(lines);
}

const straysIn = (lines: ProbeLine[]): StatusObservation["strays"] => ({
  count: Number(allIn(lines, "strays")[0] ?? 0),
  first: allIn(lines, "stray").map(strayFrom),
});

function strayFrom(text: string): Stray {
  const [pid = "", ...words] = text.replace(/\p{Cc}/gu, " ").split(" ");
  return { pid: Number(pid), command: words.join(" ").slice(0, 200) };
}

const numbers = (text = ""): number[] =>
  text
    .split(" ")
    .filter((word) => /^\d+$/.test(word))
    .map(Number);

/** Kilobytes below which writing fails. */
const noRoom = 1024;

function spaceFrom([free, inodes = 0, freeInodes = 0]: number[]): Pick<StatusObservation, "space" | "full"> {
  if (free === undefined) return {};
  const space = { free, inodes, freeInodes };
  if (free < noRoom) return { space, full: "blocks" };
  return { space, ...(inodes > 0 && freeInodes === 0 && { full: "inodes" }) };
}

/** Each is hundredths of a second, and microseconds of work done by then. */
export function busyBetween([from = 0, before = 0]: number[], [to = 0, after = 0]: number[]): number | undefined {
  if (to <= from || after < before) return undefined;
  return (after - before) / ((to - from) * 100);
}

/** By exit code of curl. */
const troubles: Record<number, string> = {
  6: "its name does not resolve there",
  7: "nothing answers there",
  28: "it does not answer in time",
  35: "no TLS could be agreed on",
  60: "its certificate is not trusted there",
  127: "the host has no curl",
};

/** The exit code of curl and the HTTP status, which curl itself may have printed on its own line. */
function reachFrom(text: string, answer = "0"): Reach {
  const [exit = 0, status = Number(answer)] = numbers(text);
  if (status > 0) return { status };
  return { trouble: troubles[exit] ?? `curl ended with ${exit}` };
}
