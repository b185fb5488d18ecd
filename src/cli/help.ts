import { Argument, type Command as Commander, Help } from "commander";
import type { Command, Example, Noun } from "./command.js";
import { commandsOf } from "./nouns.js";
import { argSummary, argTerm, capital, paragraphs } from "./spelling.js";

/** Overrides of commander's help. */
export const helpFormat: Partial<Help> = {
  /** `--port PORT` rather than `--port <PORT>`. */
  optionTerm: (option) => option.flags.replace(/[<>]/g, ""),
  optionDescription({ description, argChoices, defaultValue, negate }) {
    const more = [...(argChoices ?? []), ...(defaultValue === undefined || negate ? [] : [`default ${defaultValue}`])];
    return more.length > 0 ? `${description} (${more.join(", ")})` : description;
  },
  subcommandTerm: (command) => command.name(),
  argumentTerm: (argument) => argument.name(),
  /** Commands come before the global options. */
  formatHelp(command, helper) {
    const text = Help.prototype.formatHelp.call(this, command, helper);
    return text.replace(/^(Global options:\n.*?\n)\n(Commands:\n.*?\n)$/ms, "$2\n$1");
  },
};

export function describeRoot(root: Commander): void {
  root
    .usage("COMMAND [options]")
    .description("Manages AI agents on Linux hosts over plain SSH.")
    .addHelpText(
      "after",
      examplesText([
        { run: "clm lab up --hosts 3", note: "three throw-away hosts on this machine" },
        { run: "clm host add wolf-i --address 192.168.1.20 --user maurice", note: "a real host" },
        { run: "clm host check --all" },
      ]),
    )
    .addHelpText("after", "\nMore about a command: clm help COMMAND");
}

export function describeNoun(commander: Commander, noun: Noun): void {
  const shown = [...noun.commands, ...(noun.nouns ?? []).flatMap((inner) => commandsOf(inner).slice(0, 1))];
  commander
    .usage("COMMAND [options]")
    .summary(noun.summary)
    .description(capital(noun.summary))
    .addHelpText("after", examplesText(shown.flatMap(({ examples }) => examples.slice(0, 1))))
    .addHelpText("after", `\nMore about a command: clm help ${noun.name} COMMAND`);
}

export function describeCommand(commander: Commander, command: Command): void {
  const args = Object.entries(command.args ?? {});
  commander
    .usage(["[options]", ...args.map(([key, spec]) => argTerm(key, spec))].join(" "))
    .summary(command.summary)
    .description(
      [capital(command.summary), ...(command.description ? paragraphs(command.description) : [])].join("\n\n"),
    )
    .configureHelp({
      ...helpFormat,
      visibleArguments: () => args.map(([key, spec]) => named(argTerm(key, spec), argSummary(spec))),
    })
    .addHelpText("after", examplesText(command.examples));
}

/** Commander reads brackets in a name as its own; here they are part of what is shown. */
function named(term: string, summary: string): Argument {
  const argument = new Argument("term", summary);
  argument.name = () => term;
  return argument;
}

function examplesText(examples: readonly Example[]): string {
  const lines = examples.flatMap(({ run, note }) => [`  ${run}`, ...(note ? [`      ${note}`] : [])]);
  return ["", "Examples:", ...lines].join("\n");
}
