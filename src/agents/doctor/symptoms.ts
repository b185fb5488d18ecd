import { clockOf } from "../logs/clock.js";
import { fileEntry, type Level } from "../logs/entry.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import proofs from "../probe/proof/proof.sh?raw";
import { allIn, parseLines, probeScriptForMany, settingsOf, splitSections } from "../probe/script.js";
import library from "./symptoms.sh?raw";

/** It holds no secret and changes nothing. Prints the host's clock first, as close as possible to the request. */
export const symptomsScript = (agents: readonly ResolvedAgent[]): string =>
  probeScriptForMany(
    proofs + library,
    ['say clock "$(date +%s.%N)"'],
    agents.map((agent) => [settingsOf(agent), "probe_account", "probe_symptoms"].join("\n")),
  );

export interface LogLine {
  /** Milliseconds since 1970. */
  at: number;
  text: string;
  /** Only of a line in a log file. */
  level?: Level;
}

export interface Symptoms {
  /** Since its start, in the order of time. */
  words: LogLine[];
  /** When the kernel last killed it for lack of memory, within a day. */
  outOfMemory?: number;
}

/** The host's clock against ours, in seconds, and how far off that may be. */
export interface Clock {
  ahead: number;
  within: number;
}

/** Parses the output of symptoms.sh, by the numbers of the agents; undefined for an incomplete section. */
export const symptomsFrom = (text: string, count: number): (Symptoms | undefined)[] =>
  splitSections(text, count).map(symptomsOf);

function symptomsOf(text: string): Symptoms | undefined {
  const said = parseLines(text);
  if (!said) return undefined;
  const [offset = "", zone = ""] = allIn(said, "zone").join().split(" ");
  const hostClock = clockOf(offset, zone);
  const fileWords = timed(allIn(said, "error"), (line) => fileEntry("errors", line, hostClock));
  const words = [...journalWords(allIn(said, "journal")), ...fileWords];
  const [oom] = journalWords(allIn(said, "oom"));
  return { words: words.sort((a, b) => a.at - b.at), ...(oom && { outOfMemory: oom.at }) };
}

/** A line without a time continues the line before it. */
function timed(lines: string[], read: (line: string) => LogLine | undefined): LogLine[] {
  let last: LogLine | undefined;
  return lines.flatMap((line) => {
    const entry = read(line);
    last = entry ?? last;
    return entry ?? (last ? { at: last.at, text: line } : []);
  });
}

/** `1700000000.123456 wolf-i ada[700]: text` */
function journalLine(line: string): LogLine | undefined {
  const [, seconds, text = ""] = /^(\d{9,}\.\d+) \S+ [^:]*?(?:\[\d+\])?: (.*)$/s.exec(line) ?? [];
  return seconds === undefined ? undefined : { at: Number(seconds) * 1000, text };
}

/** Without Python's level in front of a line. */
const journalWords = (lines: string[]): LogLine[] =>
  timed(lines, journalLine).map(({ at, text }) => ({
    at,
    text: text.replace(/^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +/, ""),
  }));

/** The host read its clock between our request and its answer, which bounds the error. */
export function clockFrom(text: string, asked: number, answered: number): Clock | undefined {
  const said = /^clock=(\d+(?:\.\d+)?)$/m.exec(text)?.[1];
  if (said === undefined) return undefined;
  return { ahead: Number(said) - (asked + answered) / 2000, within: (answered - asked) / 2000 };
}
