import { Command as Commander, CommanderError, Option } from "commander";
import { VERSION } from "../version.js";
import type { Command, Noun, OptionSpec } from "./command.js";
import { globalsFrom, optionValues } from "./given.js";
import { type Globals, globalsAnywhere, globalsOf } from "./globals.js";
import { describeCommand, describeNoun, describeRoot, helpFormat } from "./help.js";
import { misread, UnknownCommand } from "./misread.js";
import { everyNoun, lastWord, nounsNamed, verbless } from "./nouns.js";
import { toOption } from "./options.js";
import { bindWords, dashesMissing, takesCommand } from "./words.js";

/** What a command line asks for. */
export type Asked = { kind: "print"; text: string } | ({ kind: "run" } & Run);

export interface Run {
  command: Command;
  input: { args: Record<string, unknown>; options: Record<string, unknown> };
  globals: Globals;
}

/** Reads a command line. Does nothing yet; throws `usage` when it is none of ours. */
export async function parse(argv: readonly string[], width = 80): Promise<Asked> {
  try {
    return parseWith(await nounsNamed(argv), argv, width);
  } catch (error) {
    throw error instanceof UnknownCommand ? error.amongst(await everyNoun()) : error;
  }
}

function parseWith(nouns: readonly Noun[], argv: readonly string[], width: number): Asked {
  const words = argv[0] === "help" ? [...argv.slice(1), "--help"] : [...argv];
  const dashes = words.indexOf("--");
  const tail = dashes < 0 ? undefined : words.slice(dashes + 1);
  let text = "";
  let run: Run | undefined;

  const print = (more: string) => {
    text += more;
  };
  const root = new Commander("clm").configureHelp(helpFormat).configureOutput({
    writeOut: print,
    writeErr: print,
    outputError: () => {},
    getOutHelpWidth: () => width,
    getErrHelpWidth: () => width,
  });
  describeRoot(root);
  addGlobals(root, globalsAnywhere);
  for (const noun of nouns) addNoun(root, noun);

  // Only what the line names is built in full: commander needs 0.2 ms for a command with its options, and help shows of
  // the others no more than their summary.
  function addNoun(parent: Commander, noun: Noun): void {
    const word = lastWord(noun.name);
    const commander = parent.command(word).summary(noun.summary);
    if (!words.includes(word)) return;
    const single = verbless(noun);
    if (single) {
      addCommand(commander, single);
      return;
    }
    describeNoun(commander, noun);
    addGlobals(commander, globalsAnywhere);
    for (const command of noun.commands) {
      const verb = lastWord(command.path);
      const child = commander.command(verb, { hidden: command.hidden === true }).summary(command.summary);
      if (words.includes(verb)) addCommand(child, command);
    }
    for (const inner of noun.nouns ?? []) addNoun(commander, inner);
  }

  function addCommand(commander: Commander, command: Command): void {
    const { options = {} } = command;
    describeCommand(commander, command);
    addOptions(commander, options);
    addGlobals(commander, globalsOf(command));
    commander.argument("[words...]").action(() => {
      const globals = globalsFrom(commander, command);
      const args = bindWords(command, commander.args, tail);
      run = { command, input: { args, options: optionValues(commander, options) }, globals };
    });
    if (!takesCommand(command) || tail) return;
    commander.exitOverride((error) => {
      // `host exec web uname -a`: it is not `-a` that is wrong.
      const forgotten = error.code === "commander.unknownOption" && commander.args.length > 1;
      throw forgotten ? dashesMissing(command, commander.args) : ended(commander, error);
    });
  }

  try {
    root.parse(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
  }
  return run ? { kind: "run", ...run } : { kind: "print", text };
}

function addOptions(commander: Commander, specs: Record<string, OptionSpec>): void {
  for (const [key, spec] of Object.entries(specs)) commander.addOption(toOption(commander, key, spec));
}

/** What every command has: the global options, help, the version, and errors in our words. */
function addGlobals(commander: Commander, specs: Record<string, OptionSpec>): void {
  const heading = "Global options:";
  commander.optionsGroup(heading);
  addOptions(commander, specs);
  // `clm agent install --version 2026.5.7` is about the agent's.
  const taken = commander.options.some(({ long }) => long === "--version");
  if (!taken) commander.version(`clm ${VERSION}`, "--version", "print the version of clm");
  commander
    .enablePositionalOptions()
    .addHelpOption(new Option("-h, --help", "show this help").helpGroup(heading))
    .helpCommand(false)
    .showSuggestionAfterError(false)
    .exitOverride((error) => {
      throw ended(commander, error);
    })
    .on("beforeHelp", () => {
      // `clm nope --help` is no question about clm.
      const word = commander.args[0];
      if (commander.commands.length > 0 && word && !word.startsWith("-")) throw new UnknownCommand(commander, word);
    });
}

/** Commander ends this way after printing help or the version, too; that goes on as it is. */
function ended(commander: Commander, error: CommanderError): Error {
  return error.exitCode === 0 || error.code === "commander.help" ? error : misread(commander, error);
}
