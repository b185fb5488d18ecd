import { catalog } from "./catalog.js";
import type { Command, Noun } from "./command.js";

/** A noun may hold nouns of its own: `agent` holds `agent memory`. Whoever walks the catalog walks it with these. */

/** The last word of a path, which is what is typed at that place: `show` of `agent memory show`. */
export const lastWord = (path: string): string => path.slice(path.lastIndexOf(" ") + 1);

/** The command of a noun that takes no verb, such as `clm audit`. */
export const verbless = (noun: Noun): Command | undefined =>
  noun.commands.find((command) => command.path === noun.name);

/** The noun and every noun below it. */
export const nounsOf = (noun: Noun): Noun[] => [noun, ...(noun.nouns ?? []).flatMap(nounsOf)];

/** Every command of the noun and of the nouns below it. */
export const commandsOf = (noun: Noun): Command[] => nounsOf(noun).flatMap(({ commands }) => commands);

/** Every noun, those that the line names with their verbs. */
export const nounsNamed = (words: readonly string[]): Promise<Noun[]> => nounsWhere((name) => words.includes(name));

/** Every noun with its verbs. */
export const everyNoun = (): Promise<Noun[]> => nounsWhere(() => true);

const nounsWhere = (wanted: (name: string) => boolean): Promise<Noun[]> =>
  Promise.all(
    catalog.map(async ({ name, summary, verbs }) => {
      const { commands, nouns } = wanted(name) ? await verbs() : { commands: [] };
      return { name, summary, commands, ...(nouns && { nouns }) };
    }),
  );
