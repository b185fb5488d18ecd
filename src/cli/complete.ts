import { homedir } from "node:os";
import { resolveConfigDir } from "../state/config-dir.js";
import type { ArgSpec, Command, Completes, Noun, OptionSpec } from "./command.js";
import { globalsAnywhere, globalsOf } from "./globals.js";
import { lastWord, nounsNamed, verbless } from "./nouns.js";
import { longOption } from "./spelling.js";

/** A word that may stand next, and what it is. */
export interface Candidate {
  word: string;
  note?: string;
}

/** Names that are not in the declarations: what `completes` stands for. */
export type Names = (
  kind: Exclude<Completes, "file" | "directory">,
  configDir: string | undefined,
) => Promise<Candidate[]>;

/** A single candidate that tells the shell to complete paths itself; it knows about quotes, spaces and `~`. */
const paths = { file: ":file", directory: ":directory" } as const;
const isPath = ({ word }: Candidate): boolean => word === paths.file || word === paths.directory;

/** What `clm __complete` answers, given the words after `clm`; the last one is being typed. Never fails. */
export async function answerShell(words: string[], env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const names: Names = async (kind, dir) => {
      const { namesFrom } = await import("./completion/names.js");
      return namesFrom(kind, resolveConfigDir(dir, env, env.HOME || homedir()));
    };
    const found = await complete(words, names);
    return found.map(({ word, note }) => `${word}${note ? `\t${note}` : ""}\n`).join("");
  } catch {
    return "";
  }
}

export async function complete(words: readonly string[], names: Names): Promise<Candidate[]> {
  const place = walk(await nounsNamed(words), words.slice(0, -1));
  // Bash makes three words of `--output=json`.
  const typed = words.at(-1) ?? "";
  const current = typed === "=" && place.expects ? "" : typed;
  const values = (spec: ArgSpec | OptionSpec) => valuesOf(spec, (kind) => names(kind, place.configDir));
  const startingSo = (all: Candidate[]) => all.filter((each) => isPath(each) || each.word.startsWith(current));

  if (place.passed) return [];
  if (place.expects) return startingSo(await values(place.expects));
  const [option] = /^--[^=]+=/.exec(current) ?? [];
  if (option) {
    const spec = place.options[option.slice(0, -1)];
    const found = spec ? await values(spec) : [];
    return startingSo(found.map((each) => (isPath(each) ? each : { ...each, word: option + each.word })));
  }
  if (current.startsWith("-")) return startingSo(unused(place));
  return startingSo(await wordsAt(place, values));
}

/** Where the words before the current one lead to. */
interface Place {
  /** The nouns that may stand next. */
  nouns: readonly Noun[];
  noun?: Noun;
  command?: Command;
  /** The words the command has already. */
  words: string[];
  used: Set<string>;
  options: Record<string, OptionSpec>;
  /** The option whose value comes next. */
  expects?: OptionSpec;
  configDir?: string;
  /** After `--`, or after a word that is none of ours: nothing can be said any more. */
  passed: boolean;
}

function walk(nouns: readonly Noun[], words: readonly string[]): Place {
  const place: Place = { nouns, words: [], used: new Set(), options: spelled(globalsAnywhere), passed: false };
  let option = "";
  for (const [at, word] of words.entries()) {
    if (place.expects) {
      if (word === "=") continue;
      if (option === "--config-dir") place.configDir = word;
      delete place.expects;
    } else if (word === "--") {
      place.passed = true;
      break;
    } else if (word.startsWith("-")) {
      const [name = word, glued] = word.split("=", 2);
      const spec = place.options[name];
      place.used.add(name);
      if (name === "--config-dir" && glued !== undefined) place.configDir = glued;
      else if (spec && spec.kind !== "flag" && glued === undefined) place.expects = spec;
      option = name;
    } else if (!(word === "help" && at === 0)) step(place, word);
  }
  return place;
}

function step(place: Place, word: string): void {
  if (place.command) {
    place.words.push(word);
    return;
  }
  const noun = place.nouns.find(({ name }) => lastWord(name) === word);
  const command = noun ? verbless(noun) : place.noun?.commands.find(({ path }) => lastWord(path) === word);
  if (!noun && !command) place.passed = true;
  if (noun) Object.assign(place, { noun, nouns: noun.nouns ?? [] });
  if (!command) return;
  place.command = command;
  place.options = spelled({ ...command.options, ...globalsOf(command) });
}

const spelled = (specs: Record<string, OptionSpec>): Record<string, OptionSpec> =>
  Object.fromEntries(
    Object.entries(specs).flatMap(([key, spec]) => [
      [longOption(key), spec],
      ...(spec.short ? [[`-${spec.short}`, spec]] : []),
    ]),
  );

function unused({ options, used }: Place): Candidate[] {
  const left = Object.entries(options).filter(
    ([name, spec]) => name.startsWith("--") && (spec.kind === "list" || !used.has(name)),
  );
  return [...left.map(([word, { summary }]) => ({ word, note: summary })), { word: "--help", note: "show help" }];
}

async function wordsAt(place: Place, values: (spec: ArgSpec) => Promise<Candidate[]>): Promise<Candidate[]> {
  const { nouns, noun, command } = place;
  if (!command) {
    const verbs = noun?.commands.filter(({ hidden }) => !hidden) ?? [];
    return [
      ...verbs.map(({ path, summary }) => ({ word: lastWord(path), note: summary })),
      ...nouns.map(({ name, summary }) => ({ word: lastWord(name), note: summary })),
      ...(noun ? [] : [{ word: "help", note: "show help" }]),
    ];
  }
  const specs = Object.values(command.args ?? {});
  const before = specs.filter(({ kind }) => kind !== "command");
  const spec = before[place.words.length] ?? before.find(({ kind }) => kind === "rest");
  const found = spec ? await values(spec) : [];
  const last = spec?.last ?? [];
  if (last.includes(place.words.at(-1) ?? "")) return [];
  const others = spec?.kind === "rest" ? found.filter(({ word }) => !place.words.includes(word)) : found;
  const fresh = [...others, ...last.map((word) => ({ word }))];
  const dashes = before.length < specs.length && place.words.length > 0;
  return dashes ? [...fresh, { word: "--", note: "the command follows" }] : fresh;
}

async function valuesOf(
  { choices, completes }: ArgSpec | OptionSpec,
  names: (kind: Exclude<Completes, "file" | "directory">) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  if (choices) return choices.map((word) => ({ word }));
  if (completes === "file" || completes === "directory") return [{ word: paths[completes] }];
  return completes ? names(completes) : [];
}
