import type { Command as Commander, CommanderError } from "commander";
import type { Fault } from "../errors.js";
import { nearest } from "../nearest.js";
import { catalog } from "./catalog.js";
import { nounsOf } from "./nouns.js";
import { pathOf, usage } from "./usage.js";

/** Commander's errors in our words. They say nothing but a sentence, so the word at fault is read from that. */
export function misread(commander: Commander, error: CommanderError): Fault {
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
      return unknownCommand(commander, word);
    case "commander.optionMissingArgument":
      return usage(path, `a value is missing: ${word.replace(/[<>]/g, "")}`);
    default:
      return usage(path, error.message.replace(/^error: /, ""));
  }
}

export function unknownCommand(parent: Commander, word: string): Fault {
  const path = pathOf(parent);
  const names = parent.commands.map((command) => command.name());
  const meant = nearest(word, names);
  return usage(path, `${path} has no command '${word}'`, meant ? `${path} ${meant}` : nounMissing(parent, word));
}

/** A word whose noun was left out: `clm list` → `clm host list`, `clm agent edit` → `clm agent memory edit`. */
function nounMissing(parent: Commander, word: string): string | undefined {
  const nouns = catalog.flatMap(nounsOf);
  const paths = nouns.flatMap(({ name, commands }) => [`clm ${name}`, ...commands.map(({ path }) => `clm ${path}`)]);
  return paths.find((path) => path.startsWith(`${pathOf(parent)} `) && path.endsWith(` ${word}`));
}

const optionsOf = (commander: Commander): string[] => commander.options.flatMap(({ long }) => long ?? []);
