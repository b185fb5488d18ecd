import type { Fault } from "../errors.js";
import { quote } from "../quote.js";
import { nearest } from "../text/nearest.js";
import { VERSION } from "../version.js";
import type { ArgSpec, Command, OptionSpec } from "./command.js";
import { type Globals, globalsOf } from "./globals.js";
import { type Location, locate, optionsAt, type Token, tokenize } from "./locate.js";
import { everyNoun, lastWord, nounsOf } from "./nouns.js";
import { argName, argTerm, dashed, longOption } from "./spelling.js";
import { usage } from "./usage.js";

export type Parsed = { kind: "print"; text: string } | ParsedRun;

export interface ParsedRun {
  kind: "run";
  command: Command;
  input: { args: Record<string, unknown>; options: Record<string, unknown> };
  globals: Globals;
}

export async function parse(argv: readonly string[], width = 80): Promise<Parsed> {
  const location = await locate(argv[0] === "help" ? [...argv.slice(1), "--help"] : argv);
  const { noun, command, options, unknown } = location;
  if (unknown) throw await unknownWord(location, unknown);
  const tokens = tokenize(location.rest, optionsAt(command));
  const has = (name: string) => [...options, ...tokens].some((token) => token.kind === "option" && token.name === name);
  // `agent install --version 2026.5.7` means the agent's version.
  if (has("version") && !command?.options?.version && !has("help")) return { kind: "print", text: `clm ${VERSION}\n` };
  if (!command || has("help")) {
    const { helpText } = await import("./help.js");
    return { kind: "print", text: helpText(command ?? noun, width) };
  }
  const missing = dashesMissing(command, tokens);
  if (missing) throw missing;
  const values = optionValues(command, options, tokens);
  const args = argumentValues(command, tokens);
  const own = Object.keys(command.options ?? {}).map((key) => [key, values[key]]);
  return {
    kind: "run",
    command,
    input: { args, options: Object.fromEntries(own) },
    globals: globalsIn(command, values),
  };
}

function globalsIn(command: Command, values: Record<string, unknown>): Globals {
  const { output } = values;
  const formats = command.formats ?? ["table"];
  return {
    configDir: textIn(values.configDir),
    sudoPasswordFile: textIn(values.sudoPasswordFile),
    format: formats.find((format) => format === output) ?? formats[0] ?? "table",
    yes: values.yes === true,
    dryRun: values.dryRun === true,
    quiet: values.quiet === true,
    debug: values.debug === true,
    noColor: values.noColor === true,
  };
}

const textIn = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function optionValues(command: Command, before: Token[], after: Token[]): Record<string, unknown> {
  const path = `clm ${command.path}`;
  const specs = { ...globalsOf(command), ...command.options };
  const keys = new Map(Object.keys(specs).map((key) => [dashed(key), key]));
  const values = new Map<string, unknown>();
  for (const token of [...before, ...after]) {
    if (token.kind !== "option") continue;
    const key = keys.get(token.name) ?? "";
    const spec = specs[key];
    if (!spec) throw dashesMissing(command, after, token) ?? unknownOption(path, token, specs);
    values.set(key, optionValue(path, key, spec, token, values.get(key)));
  }
  return Object.fromEntries(Object.entries(specs).map(([key, spec]) => [key, values.get(key) ?? unset(spec)]));
}

function unset({ kind, default: preset }: OptionSpec): unknown {
  if (preset !== undefined) return preset;
  return kind === "flag" ? false : kind === "list" ? [] : undefined;
}

type OptionToken = Extract<Token, { kind: "option" }>;

function optionValue(path: string, key: string, spec: OptionSpec, { value }: OptionToken, before: unknown): unknown {
  const long = longOption(key);
  const { kind, choices, placeholder } = spec;
  if (kind === "flag") {
    if (value !== undefined) throw usage(path, `${long} takes no value`);
    return true;
  }
  // parseArgs takes any next word as the value: `--address --user x` must not connect to a host called `--user`.
  if (!value || /^--[a-z]/.test(value)) throw usage(path, `${long} needs a value: ${long} ${placeholder}`);
  if (kind === "list") return [...(Array.isArray(before) ? before : []), value];
  if (before !== undefined) throw usage(path, `${long} is given twice and takes one value`);
  if (kind === "number") return numberFrom(path, long, value, spec);
  if (choices) mustBeChoice(path, long, value, choices);
  return value;
}

function numberFrom(path: string, long: string, text: string, spec: OptionSpec): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = spec;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of ${min} or more`;
  throw usage(path, `${long} is a whole number ${range}, not '${text}'`);
}

function mustBeChoice(path: string, name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return;
  throw usage(path, `${name} is one of ${choices.join(", ")}, not '${value}'`, nearest(value, choices));
}

function argumentValues(command: Command, tokens: Token[]): Record<string, unknown> {
  const path = `clm ${command.path}`;
  const missing = (key: string, spec: ArgSpec) => usage(path, `${path} needs ${argTerm(key, spec)}${choicesOf(spec)}`);
  const dashes = tokens.findIndex(({ kind }) => kind === "option-terminator");
  const split = takesCommandLine(command) && dashes >= 0 ? dashes : tokens.length;
  const words = positionals(tokens.slice(0, split));
  const values: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(command.args ?? {})) {
    if (spec.kind === "rest") values[key] = words.splice(0);
    else if (spec.kind === "command") {
      const commandLine = positionals(tokens.slice(split));
      if (commandLine.length === 0) throw missing(key, spec);
      values[key] = commandLine;
    } else {
      const word = words.shift();
      if (word === undefined && spec.kind === "required") throw missing(key, spec);
      if (word !== undefined && spec.choices) mustBeChoice(path, argName(key), word, spec.choices);
      values[key] = word;
    }
  }
  if (words.length > 0) throw tooManyWords(command);
  return values;
}

const choicesOf = ({ choices }: ArgSpec): string => (choices ? `: ${choices.join(", ")}` : "");

const positionals = (tokens: Token[]): string[] =>
  tokens.flatMap((token) => (token.kind === "positional" ? token.value : []));

const takesCommandLine = ({ args = {} }: Command): boolean =>
  Object.values(args).some(({ kind }) => kind === "command");

/** The extra word is not repeated: it may be a key, typed where none is read. */
function tooManyWords({ path, args = {} }: Command): Fault {
  const terms = Object.entries(args).map(([key, spec]) => argTerm(key, spec));
  const takes = terms.length > 0 ? `${terms.join(" ")} and no more words` : "no words, only options";
  return usage(`clm ${path}`, `clm ${path} takes ${takes}`);
}

/** `host exec web uname -a`: the fault is the missing `--` and not the option `-a`. `at` is the unknown option. */
function dashesMissing(command: Command, tokens: Token[], at?: Token): Fault | undefined {
  if (!takesCommandLine(command) || tokens.some(({ kind }) => kind === "option-terminator")) return undefined;
  const words = tokens.filter(({ kind }) => kind === "positional");
  // With several hosts or agents, the first is a good guess.
  const before = words.slice(0, Object.keys(command.args ?? {}).length - 1);
  const cut = words[before.length]?.index ?? at?.index;
  if (cut === undefined || words.length === 0) return undefined;
  const rest = [...new Map(tokens.filter(({ index }) => index >= cut).map(({ index, raw }) => [index, raw])).values()];
  const line = [...before.map(({ raw }) => quote(raw)), "--", ...rest.map(quote)].join(" ");
  return usage(`clm ${command.path}`, "'--' is missing before the command", `clm ${command.path} ${line}`);
}

/** The value after `=`, or after one letter, is not repeated: it may be a key. */
function unknownOption(path: string, { name, raw }: OptionToken, specs: Record<string, OptionSpec>): Fault {
  const option = name.length > 1 ? `--${name}` : raw.replace(/=.*$/s, "");
  const shown = option.replace(/^(-[^-]).+$/s, "$1…");
  const names = Object.keys(specs).filter((key) => !specs[key]?.hidden);
  return usage(path, `${path} has no option ${shown}`, nearest(option, names.map(longOption)));
}

async function unknownWord({ noun, nouns }: Location, token: Token): Promise<Fault> {
  const path = noun ? `clm ${noun.name}` : "clm";
  if (token.kind === "option") return unknownOption(path, token, optionsAt(undefined));
  const word = token.raw;
  const names = [...nouns.map(({ name }) => name), ...(noun?.commands ?? []).map((command) => command.path)];
  const near = nearest(word, names.map(lastWord));
  return usage(path, `${path} has no command '${word}'`, near ? `${path} ${near}` : await longerPath(path, word));
}

/** A command whose noun was left out: `clm list` → `clm host list`, `clm agent edit` → `clm agent memory edit`. */
async function longerPath(parent: string, word: string): Promise<string | undefined> {
  const paths = (await everyNoun())
    .flatMap(nounsOf)
    .flatMap(({ name, commands }) => [`clm ${name}`, ...commands.map(({ path }) => `clm ${path}`)]);
  return paths.find((path) => path.startsWith(`${parent} `) && path.endsWith(` ${word}`));
}
