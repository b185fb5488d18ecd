import { parseArgs } from "node:util";
import { own } from "../text/own-property.js";
import { catalog } from "./catalog.js";
import { type Command, flag, type Noun, type OptionSpec } from "./command.js";
import { globalsAnywhere, globalsOf } from "./globals.js";
import { lastWord, nounOf, verbless } from "./nouns.js";
import { dashed, longOption } from "./spelling.js";

type Specs = Record<string, OptionSpec>;

/** A part of a command line; `raw` is the word as typed. */
export type Token = ReturnType<typeof tokenize>[number];

const builtIn: Specs = {
  help: flag("show help", { short: "h" }),
  version: { ...flag("print the version of clm"), hidden: true },
};

/** The options of a command, or those accepted before the command is known. */
export const optionsAt = (command: Command | undefined): Specs => ({
  ...command?.options,
  ...(command ? globalsOf(command) : globalsAnywhere),
  ...builtIn,
  // `--version` of `agent install` is its own.
  ...command?.options,
});

/** Splits words into options and positionals. Unknown options and missing values are left to the caller. */
export function tokenize(args: string[], specs: Specs) {
  const options = Object.entries(specs).map(([key, { kind, short }]) => {
    return [dashed(key), { type: kind === "flag" ? "boolean" : "string", ...(short && { short }) }] as const;
  });
  const { tokens } = parseArgs({
    args,
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return tokens.map((token) => ({ ...token, raw: args[token.index] ?? "" }));
}

export interface Location {
  noun?: Noun;
  command?: Command;
  nouns: readonly Pick<Noun, "name" | "summary">[];
  /** The options before the command's last word. */
  options: Token[];
  rest: string[];
  /** A word that is not a command, or an unknown option. */
  unknown?: Token;
}

export async function locate(argv: readonly string[]): Promise<Location> {
  const known = Object.keys(optionsAt(undefined)).map(dashed);
  const place: Location = { nouns: catalog, options: [], rest: [] };
  let start = 0;
  for (const token of tokenize([...argv], optionsAt(undefined))) {
    if (token.kind === "option" && known.includes(token.name)) {
      place.options.push(token);
      continue;
    }
    const word = token.kind === "positional" ? token.value : undefined;
    const noun = word === undefined ? undefined : await nounAt(place, word);
    const command = noun ? verbless(noun) : place.noun?.commands.find(({ path }) => lastWord(path) === word);
    if (noun) Object.assign(place, { noun, nouns: noun.nouns ?? [] });
    if (command) return { ...place, command, rest: argv.slice(token.index + 1) };
    const legacy = noun || !place.noun ? undefined : verbFirst(place.noun, argv.slice(start));
    if (legacy) return { ...place, ...legacy };
    if (!noun) return { ...place, unknown: token };
    start = token.index + 1;
  }
  return place;
}

async function nounAt({ noun }: Location, word: string): Promise<Noun | undefined> {
  if (noun) return noun.nouns?.find(({ name }) => lastWord(name) === word);
  const entry = catalog.find(({ name }) => name === word);
  return entry && nounOf(entry);
}

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
