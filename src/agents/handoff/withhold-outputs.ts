import { mayBeSecretWord, shortestSecretWord } from "../../secret-shapes.js";
import { matchesPattern } from "../../text/wildcard.js";
import { textsIn, withTexts } from "./texts.js";
import type { TranscriptMessage } from "./transcript.js";

/** A line of an output is known again by this many characters; of a shorter one, such as `}`, every text is full. */
const shortestLine = 12;
const knownBy = shortestSecretWord;

export const inPlaceOf = (tool: string): string => `[the output of ${tool} was not handed over]`;

/** A text without what may not travel. */
export type TextFilter = (text: string) => string;

export interface WithheldOutputs {
  said: TranscriptMessage[];
  /** The places of those whose outputs were taken out. */
  outputs: ReadonlySet<number>;
  withhold: TextFilter;
}

/**
 * Takes out what denied tools answered, what they were given, and what another message quotes of their answers: whole lines, and
 * words that may be a secret.
 * `earlier` is what was said before and does not travel itself: a summary of it may quote it.
 */
export function withoutOutputs(
  said: readonly TranscriptMessage[],
  patterns: readonly string[],
  earlier: readonly TranscriptMessage[] = [],
): WithheldOutputs {
  if (patterns.length === 0) return { said: [...said], outputs: new Set(), withhold: (text) => text };
  const isDenied = (tool: string) => tool !== "" && patterns.some((pattern) => matchesPattern(pattern, tool));
  const deniedIn = (some: readonly TranscriptMessage[]) => toolsOf(some).map((names) => names.find(isDenied));
  const [tools, before] = [deniedIn(said), deniedIn(earlier)];
  const lines = new Map<string, string>();
  for (const [at, { content }] of [...earlier, ...said].entries()) {
    const tool = at < earlier.length ? before[at] : tools[at - earlier.length];
    if (tool === undefined) continue;
    for (const line of textsIn(content).flatMap(linesOf)) lines.set(line, lines.get(line) ?? tool);
  }
  const marks = [...new Set([...before, ...tools].flatMap((tool) => tool ?? []))].map(inPlaceOf);
  for (const line of lines.keys()) if (marks.some((mark) => mark.includes(line))) lines.delete(line);
  const withhold = quotesOf(lines);
  const clean = said.map((message, at): TranscriptMessage => {
    const tool = tools[at];
    const calls = message.calls.map((call) => (isDenied(call.name) ? { ...call, arguments: "{}" } : call));
    return tool === undefined ? withTexts({ ...message, calls }, withhold) : { ...message, content: inPlaceOf(tool) };
  });
  const outputs = new Set(tools.flatMap((tool, at) => (tool === undefined ? [] : at)));
  return { said: clean, outputs, withhold };
}

/** Whose answer each message may be: by every call with its id in the last message that has one, and by what it says itself. */
function toolsOf(said: readonly TranscriptMessage[]): string[][] {
  const names = new Map<string, string[]>();
  return said.map(({ calls, answers }) => {
    for (const { id } of calls)
      names.set(
        id,
        calls.filter((call) => call.id === id).map(({ name }) => name),
      );
    return answers ? [...(names.get(answers.id) ?? []), answers.tool] : [];
  });
}

/** What an output is known by: its lines, also as they are spelled within JSON, and those of its words that may be a secret. */
export const linesOf = (text: string): string[] => [
  ...text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => line.trim())
    .flatMap((line) => [line, JSON.stringify(line).slice(1, -1)])
    .filter((line) => line.length >= shortestLine),
  ...text.split(/[^\w+~!@#$%^&*?-]+/).filter(mayBeSecretWord),
];

/** Finds lines wherever they stand: by how they begin, then by their lengths. Many that begin alike cost no more than a few. */
function quotesOf(lines: ReadonlyMap<string, string>): TextFilter {
  const lengths = new Map<string, Set<number>>();
  for (const line of lines.keys()) {
    const beginning = line.slice(0, knownBy);
    const known = lengths.get(beginning);
    if (known) known.add(line.length);
    else lengths.set(beginning, new Set([line.length]));
  }
  const longestFirst = new Map([...lengths].map(([start, some]) => [start, [...some].sort((a, b) => b - a)] as const));
  const at = (text: string, place: number): string | undefined => {
    const some = longestFirst.get(text.slice(place, place + knownBy)) ?? [];
    for (const length of some) {
      const line = text.slice(place, place + length);
      if (line.length === length && lines.has(line)) return line;
    }
    return undefined;
  };

  function once(text: string): string {
    let result = "";
    let done = 0;
    for (let place = 0; place + knownBy <= text.length; place++) {
      const line = at(text, place);
      if (line === undefined) continue;
      result += text.slice(done, place) + inPlaceOf(lines.get(line) ?? "a tool");
      place += line.length - 1;
      done = place + 1;
    }
    return done === 0 ? text : result + text.slice(done);
  }

  return (text) => {
    if (lines.size === 0) return text;
    let clean = once(text);
    // What stands around a place that was emptied may be a line itself, where somebody means it to be.
    for (let tries = 0; tries < 5; tries++) {
      const again = once(clean);
      if (again === clean) return clean;
      clean = again;
    }
    return inPlaceOf([...lines.values()][0] ?? "a tool");
  };
}
