import { mayBeSecretWord, shortestSecretWord } from "../../secret-shapes.js";
import { matchesPattern } from "../../text/wildcard.js";
import { textsIn, withTexts } from "./texts.js";
import type { TranscriptMessage } from "./transcript.js";

/** Shorter lines, such as `}`, are in every text. */
const shortestLine = 12;
const knownBy = shortestSecretWord;
export const inPlaceOf = (tool: string): string => `[the output of ${tool} was not handed over]`;
type TextFilter = (text: string) => string;

/**
 * Removes outputs and arguments of denied tools, and quotes of the outputs in other messages: whole lines, and words
 * that may be a secret. `earlier` messages are not handed over, but a summary may quote them. Returns also the indexes
 * of the messages whose outputs were removed.
 */
export function withoutOutputs(
  messages: readonly TranscriptMessage[],
  patterns: readonly string[],
  earlier: readonly TranscriptMessage[] = [],
): { messages: TranscriptMessage[]; outputs: ReadonlySet<number>; withhold: TextFilter } {
  if (patterns.length === 0) return { messages: [...messages], outputs: new Set(), withhold: (text) => text };
  const isDenied = (tool: string) => tool !== "" && patterns.some((pattern) => matchesPattern(pattern, tool));
  const deniedIn = (some: readonly TranscriptMessage[]) => toolsOf(some).map((names) => names.find(isDenied));
  const tools = deniedIn(messages);
  const all = [...deniedIn(earlier), ...tools];
  const lines = new Map<string, string>();
  for (const [at, { content }] of [...earlier, ...messages].entries()) {
    const tool = all[at];
    if (tool === undefined) continue;
    for (const line of textsIn(content).flatMap(linesOf)) lines.set(line, lines.get(line) ?? tool);
  }
  const marks = [...new Set(all.flatMap((tool) => tool ?? []))].map(inPlaceOf);
  for (const line of lines.keys()) if (marks.some((mark) => mark.includes(line))) lines.delete(line);
  const withhold = quotesOf(lines);
  const clean = messages.map((message, at): TranscriptMessage => {
    const tool = tools[at];
    const calls = message.calls.map((call) => (isDenied(call.name) ? { ...call, arguments: "{}" } : call));
    return tool === undefined ? withTexts({ ...message, calls }, withhold) : { ...message, content: inPlaceOf(tool) };
  });
  return { messages: clean, outputs: new Set(tools.flatMap((tool, at) => (tool === undefined ? [] : at))), withhold };
}

/** The tools whose output each message may be: by the calls with its id, and by its own name for the tool. */
function toolsOf(messages: readonly TranscriptMessage[]): string[][] {
  const names = new Map<string, string[]>();
  return messages.map(({ calls, answers }) => {
    const namesOf = (id: string) => calls.flatMap((call) => (call.id === id ? call.name : []));
    for (const { id } of calls) names.set(id, namesOf(id));
    return answers ? [...(names.get(answers.id) ?? []), answers.tool] : [];
  });
}

/** By which an output is recognised: its lines, also as escaped in JSON, and words that may be a secret. */
export const linesOf = (text: string): string[] => [
  ...text
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => line.trim())
    .flatMap((line) => [line, JSON.stringify(line).slice(1, -1)])
    .filter((line) => line.length >= shortestLine),
  ...text.split(/[^\w+~!@#$%^&*?-]+/).filter(mayBeSecretWord),
];

/** Finds lines anywhere in a text: by their beginning, then by their length. */
function quotesOf(lines: ReadonlyMap<string, string>): TextFilter {
  const lengths = new Map<string, Set<number>>();
  const longestFirst = [...lines.keys()].sort((a, b) => b.length - a.length);
  for (const line of longestFirst) {
    const beginning = line.slice(0, knownBy);
    lengths.set(beginning, (lengths.get(beginning) ?? new Set()).add(line.length));
  }
  const at = (text: string, place: number): string | undefined => {
    for (const length of lengths.get(text.slice(place, place + knownBy)) ?? []) {
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
    // The text around a removed line may itself be a line, in an attack.
    for (let tries = 0; tries < 5; tries++) {
      const again = once(clean);
      if (again === clean) return clean;
      clean = again;
    }
    return inPlaceOf([...lines.values()][0] ?? "a tool");
  };
}
