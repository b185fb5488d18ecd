import { own } from "../text/own-property.js";
import type { Command, Noun } from "./command.js";
import { lastWord } from "./nouns.js";
import { longOption } from "./spelling.js";

/** `agent proxy NAME enable` as `agent proxy enable NAME`, as in earlier versions. `words` come after the noun. */
export function verbFirst(
  { commands, verbLast }: Noun,
  words: readonly string[],
): { command: Command; rest: string[] } | undefined {
  if (!verbLast) return undefined;
  const withValue = commands.flatMap(({ options = {} }) =>
    Object.entries(options).flatMap(([key, { kind }]) => (kind === "flag" ? [] : longOption(key))),
  );
  const isVerb = (word: string, index: number) =>
    own(verbLast.verbs, word) !== undefined && !withValue.includes(words[index - 1] ?? "");
  const place = isVerb(words[0] ?? "", 0) ? 0 : words.findLastIndex(isVerb);
  const verb = place < 0 ? verbLast.otherwise : own(verbLast.verbs, words[place] ?? "");
  const command = commands.find(({ path }) => lastWord(path) === verb);
  return command && { command, rest: words.filter((_, index) => index !== place) };
}
