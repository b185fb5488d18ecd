import { clockOf } from "../logs/clock.js";
import { fileEntry, type Level, type Clock as Telling } from "../logs/entry.js";
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
  const words = [...journalWords(allIn(said, "journal")), ...fileWords(allIn(said, "error"), clockOf(offset, zone))];
  const [oom] = journalWords(allIn(said, "oom"));
  return { words: words.sort((a, b) => a.at - b.at), ...(oom && { outOfMemory: oom.at }) };
}

/** `1700000000.123456 wolf-i ada[700]: text`, and its continuation lines. */
function journalWords(lines: string[]): LogLine[] {
  let at = 0;
  return lines.flatMap((line): LogLine[] => {
    const [, seconds, said] = /^(\d{9,}\.\d+) \S+ [^:]*?(?:\[\d+\])?: (.*)$/s.exec(line) ?? [];
    if (seconds !== undefined) at = Number(seconds) * 1000;
    return at > 0 ? [{ at, text: (said ?? line).replace(level, "") }] : [];
  });
}

/** Python's level in front of a line of the journal. */
const level = /^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +/;

function fileWords(lines: string[], clock: Telling): LogLine[] {
  let at = 0;
  return lines.flatMap((line): LogLine[] => {
    const entry = fileEntry("errors", line, clock);
    if (entry) at = entry.at;
    return at > 0 ? [{ at, text: entry?.text ?? line, ...(entry && { level: entry.level }) }] : [];
  });
}

/** The host read its clock between our request and its answer, which bounds the error. */
export function clockFrom(text: string, asked: number, answered: number): Clock | undefined {
  const said = /^clock=(\d+(?:\.\d+)?)$/m.exec(text)?.[1];
  if (said === undefined) return undefined;
  return { ahead: Number(said) - (asked + answered) / 2000, within: (answered - asked) / 2000 };
}
