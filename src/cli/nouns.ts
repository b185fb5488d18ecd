import { type CatalogEntry, catalog } from "./catalog.js";
import type { Command, Noun } from "./command.js";

/** `show` of `agent memory show`. */
export const lastWord = (path: string): string => path.slice(path.lastIndexOf(" ") + 1);

export const verbless = (noun: Noun): Command | undefined =>
  noun.commands.find((command) => command.path === noun.name);

export const nounsOf = (noun: Noun): Noun[] => [noun, ...(noun.nouns ?? []).flatMap(nounsOf)];
export const commandsOf = (noun: Noun): Command[] => nounsOf(noun).flatMap(({ commands }) => commands);

export const nounOf = async ({ name, summary, verbs }: CatalogEntry): Promise<Noun> => ({
  name,
  summary,
  ...(await verbs()),
});
export const everyNoun = (): Promise<Noun[]> => Promise.all(catalog.map(nounOf));
