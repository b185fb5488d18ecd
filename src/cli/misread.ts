import type { Command as Commander, CommanderError } from "commander";
import type { Fault } from "../errors.js";
import { nearest } from "../text/nearest.js";
import type { Noun } from "./command.js";
import { nounsOf } from "./nouns.js";
import { pathOf, usage } from "./usage.js";

/** Commander's errors in our words. They say nothing but a sentence, so the word at fault is read from that. */
export function misread(commander: Commander, error: CommanderError): Fault | UnknownCommand {
  const path = pathOf(commander);
  const word = /'([^']*)'/.exec(error.message)?.[1] ?? "";
  switch (error.code) {
    case "commander.unknownOption": {
      // What follows the =, or the one letter, may be a key that somebody meant to give.
      const option = word.replace(/=.*$/s, "");
      const shown = option.replace(/^(-[^-]).+$/s, "$1…");
      return usage(path, `${path} has no option ${shown}`, nearest(option, optionsOf(commander)));
    }
    case "commander.unknownCommand":
      return new UnknownCommand(commander, word);
    case "commander.optionMissingArgument":
      return usage(path, `a value is missing: ${word.replace(/[<>]/g, "")}`);
    default:
      return usage(path, error.message.replace(/^error: /, ""));
  }
}

/** A word that is no command where it stands. What was meant may be a word of any noun, so they are asked for first. */
export class UnknownCommand extends Error {
  constructor(
    readonly parent: Commander,
    readonly word: string,
  ) {
    super(`no command '${word}'`);
  }

  amongst(nouns: readonly Noun[]): Fault {
    const path = pathOf(this.parent);
    const names = this.parent.commands.map((command) => command.name());
    const near = nearest(this.word, names);
    const meant = near ? `${path} ${near}` : nounMissing(nouns, path, this.word);
    return usage(path, `${path} has no command '${this.word}'`, meant);
  }
}

/** A word whose noun was left out: `clm list` → `clm host list`, `clm agent edit` → `clm agent memory edit`. */
function nounMissing(nouns: readonly Noun[], parent: string, word: string): string | undefined {
  const paths = nouns
    .flatMap(nounsOf)
    .flatMap(({ name, commands }) => [`clm ${name}`, ...commands.map(({ path }) => `clm ${path}`)]);
  return paths.find((path) => path.startsWith(`${parent} `) && path.endsWith(` ${word}`));
}

const optionsOf = (commander: Commander): string[] => commander.options.flatMap(({ long }) => long ?? []);
