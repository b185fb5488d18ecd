import type { Fault } from "../errors.js";
import { quote } from "../quote.js";
import { nearest } from "../text/nearest.js";
import type { ArgSpec, Command } from "./command.js";
import { argName, argTerm } from "./spelling.js";
import { usage } from "./usage.js";

/**
 * Gives the words of a command line to the arguments of a command. `words` are all that are not options; `tail` are
 * those of them that stood after `--`, when that was there.
 */
export function bindWords(command: Command, words: string[], tail: string[] | undefined): Record<string, unknown> {
  const path = `clm ${command.path}`;
  const left = takesCommand(command) ? words.slice(0, words.length - (tail?.length ?? 0)) : [...words];
  if (takesCommand(command) && !tail && words.length > wordsBefore(command)) throw dashesMissing(command, words);

  const bound: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(command.args ?? {})) {
    if (spec.kind === "command") bound[key] = tail ?? [];
    else bound[key] = spec.kind === "rest" ? left.splice(0) : oneWord(path, key, spec, left.shift());
    if (spec.kind === "command" && !tail?.length) throw usage(path, `${path} needs ${argTerm(key, spec)}`);
  }
  if (left.length > 0) throw usage(path, `${path} takes ${taken(command)}`);
  return bound;
}

/** The word too many is not repeated: it may be a key, typed where none is read. */
function taken({ args = {} }: Command): string {
  const terms = Object.entries(args).map(([key, spec]) => argTerm(key, spec));
  return terms.length > 0 ? `${terms.join(" ")} and no more words` : "no words, only options";
}

function oneWord(path: string, key: string, spec: ArgSpec, word: string | undefined): string | undefined {
  if (word === undefined) {
    const choices = spec.choices ? `: ${spec.choices.join(", ")}` : "";
    if (spec.kind === "required") throw usage(path, `${path} needs ${argTerm(key, spec)}${choices}`);
    return undefined;
  }
  if (spec.choices && !spec.choices.includes(word)) {
    const what = `${argName(key)} is one of ${spec.choices.join(", ")}, not '${word}'`;
    throw usage(path, what, nearest(word, spec.choices));
  }
  return word;
}

export const takesCommand = ({ args = {} }: Command): boolean =>
  Object.values(args).some(({ kind }) => kind === "command");

/** How many words may stand before a command when `--` was forgotten: of several hosts, the first is a good guess. */
const wordsBefore = ({ args = {} }: Command): number =>
  Object.values(args).filter(({ kind }) => kind !== "command").length;

/** `host exec web uname -a`: which words are hosts and which the command cannot be seen. */
export function dashesMissing(command: Command, words: string[]): Fault {
  const at = wordsBefore(command);
  const typed = [...words.slice(0, at).map(quote), "--", ...words.slice(at).map(quote)].join(" ");
  return usage(`clm ${command.path}`, "'--' is missing before the command", `clm ${command.path} ${typed}`);
}
