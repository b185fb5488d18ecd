import type { Command as Commander, CommanderError } from "commander";
import type { Fault } from "../errors.js";
import { nearest } from "../nearest.js";
import { catalog } from "./catalog.js";
import { pathOf, usage } from "./usage.js";

/** Commander's errors in our words. They say nothing but a sentence, so the word at fault is read from that. */
export function misread(commander: Commander, error: CommanderError): Fault {
  const path = pathOf(commander);
  const word = /'([^']*)'/.exec(error.message)?.[1] ?? "";
  switch (error.code) {
    case "commander.unknownOption":
      return usage(path, `${path} has no option ${word}`, nearest(word, optionsOf(commander)));
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
  return usage(path, `${path} has no command '${word}'`, meant ? `${path} ${meant}` : verbAlone(parent, word));
}

/** `clm list` → `clm host list`. */
function verbAlone(parent: Commander, word: string): string | undefined {
  if (parent.parent) return undefined;
  const found = catalog.flatMap((noun) => noun.commands).find(({ path }) => path.endsWith(` ${word}`));
  return found && `clm ${found.path}`;
}

const optionsOf = (commander: Commander): string[] => commander.options.flatMap(({ long }) => long ?? []);
