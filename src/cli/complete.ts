import { homedir } from "node:os";
import { resolveConfigDir } from "../state/config-dir.js";
import type { ArgSpec, Command, NameKind, OptionSpec } from "./command.js";
import { type Location, locate, optionsAt, type Token, tokenize } from "./locate.js";
import { lastWord } from "./nouns.js";
import { dashed, longOption } from "./spelling.js";

export interface Candidate {
  word: string;
  note?: string;
}

/** Looks up the names that `completes` stands for, such as those of hosts. */
export type Names = (kind: NameKind, configDir: string | undefined) => Promise<Candidate[]>;

/** A single candidate that makes the shell complete paths itself: it knows about quotes, spaces and `~`. */
const paths = { file: ":file", directory: ":directory" } as const;
const isPath = ({ word }: Candidate): boolean => word === paths.file || word === paths.directory;

/** The output of `clm __complete` for the words after `clm`; the last one is being typed. Never fails. */
export async function answerShell(words: string[], env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const names: Names = async (kind, dir) => {
      const { namesFrom } = await import("./completion-names.js");
      return namesFrom(kind, resolveConfigDir(dir, env, env.HOME || homedir()));
    };
    return (await complete(words, names)).map(({ word, note }) => `${word}${note ? `\t${note}` : ""}\n`).join("");
  } catch {
    return "";
  }
}

export async function complete(words: readonly string[], names: Names): Promise<Candidate[]> {
  // Bash makes three words of `--output=json`.
  const isEquals = (word: string, at: number) => word === "=" && words[at - 1]?.startsWith("--");
  const typed = words.filter((word, at) => at === words.length - 1 || !isEquals(word, at));
  const current = isEquals(typed.at(-1) ?? "", words.length - 1) ? "" : (typed.at(-1) ?? "");
  const location = await locate(typed.slice(typed[0] === "help" ? 1 : 0, -1));
  if (location.unknown) return [];
  const { command, options, rest } = location;
  const specs = optionsAt(command);
  const tokens = [...options, ...tokenize(rest, specs)];
  if (command && tokens.some(({ kind }) => kind === "option-terminator")) return [];

  const values = (spec: ArgSpec | OptionSpec) => valuesOf(spec, (kind) => names(kind, lastValue(tokens, "config-dir")));
  const matching = (all: Candidate[]) => all.filter((each) => isPath(each) || each.word.startsWith(current));
  const specOf = (name: string) => Object.entries(specs).find(([key]) => dashed(key) === name)?.[1];

  const last = tokens.at(-1);
  const expecting = last?.kind === "option" && last.value === undefined ? specOf(last.name) : undefined;
  if (expecting && expecting.kind !== "flag") return matching(await values(expecting));
  const [, prefix, name = ""] = /^(--([^=]+)=)/.exec(current) ?? [];
  if (prefix) {
    const spec = specOf(name);
    const found = spec ? await values(spec) : [];
    return matching(found.map((each) => (isPath(each) ? each : { ...each, word: prefix + each.word })));
  }
  if (current.startsWith("-")) return matching(optionsLeft(specs, tokens));
  return matching(command ? await wordsOf(command, tokens, values) : verbsAt(location));
}

const lastValue = (tokens: Token[], option: string): string | undefined =>
  tokens.flatMap((token) => (token.kind === "option" && token.name === option ? (token.value ?? []) : [])).at(-1);

function optionsLeft(specs: Record<string, OptionSpec>, tokens: Token[]): Candidate[] {
  const used = new Set(tokens.flatMap((token) => (token.kind === "option" ? token.name : [])));
  return Object.entries(specs)
    .filter(([key, { kind, hidden }]) => !hidden && (kind === "list" || !used.has(dashed(key))))
    .map(([key, { summary }]) => ({ word: longOption(key), note: summary }));
}

function verbsAt({ noun, nouns }: Location): Candidate[] {
  const verbs = noun?.commands.filter(({ hidden }) => !hidden) ?? [];
  return [
    ...verbs.map(({ path, summary }) => ({ word: lastWord(path), note: summary })),
    ...nouns.map(({ name, summary }) => ({ word: lastWord(name), note: summary })),
    ...(noun ? [] : [{ word: "help", note: "show help" }]),
  ];
}

async function wordsOf(
  { args = {} }: Command,
  tokens: Token[],
  values: (spec: ArgSpec) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const words = tokens.flatMap((token) => (token.kind === "positional" ? token.value : []));
  const specs = Object.values(args);
  const before = specs.filter(({ kind }) => kind !== "command");
  const spec = before[words.length] ?? before.find(({ kind }) => kind === "rest");
  const found = spec ? await values(spec) : [];
  const fresh = spec?.kind === "rest" ? found.filter(({ word }) => !words.includes(word)) : found;
  const dashes = before.length < specs.length && words.length > 0;
  return dashes ? [...fresh, { word: "--", note: "the command follows" }] : fresh;
}

async function valuesOf(
  { choices, completes }: ArgSpec | OptionSpec,
  names: (kind: NameKind) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  if (choices) return choices.map((word) => ({ word }));
  if (completes === "file" || completes === "directory") return [{ word: paths[completes] }];
  return completes ? names(completes) : [];
}
