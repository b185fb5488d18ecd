import { Help } from "commander";
import { catalog } from "./catalog.js";
import type { Command, Noun, OptionSpec } from "./command.js";
import { globalsAnywhere, globalsOf } from "./globals.js";
import { commandsOf, lastWord } from "./nouns.js";
import { argSummary, argTerm, capital, exampleParts, optionTerm, paragraphs, usageLine } from "./spelling.js";

type Items = [term: string, summary: string][];

interface Page {
  usage: string;
  description: string[];
  sections: Record<string, Items>;
  examples: string[];
  more?: string;
}

/** The help of a command, of a noun, or of clm. Commander wraps and aligns it. */
export function helpText(topic: Command | Noun | undefined, width: number): string {
  const { usage, description, sections, examples, more } = !topic
    ? rootPage()
    : "path" in topic
      ? commandPage(topic)
      : nounPage(topic);
  const help = new Help();
  help.prepareContext({ helpWidth: width });
  const filled = Object.entries(sections).filter(([, items]) => items.length > 0);
  const termWidth = Math.max(...filled.flatMap(([, items]) => items.map(([term]) => term.length)));
  const parts = [
    `Usage: ${usage}`,
    description.map((paragraph) => help.boxWrap(paragraph, width)).join("\n\n"),
    ...filled.map(([title, items]) =>
      [`${title}:`, ...items.map(([term, summary]) => help.formatItem(term, termWidth, summary, help))].join("\n"),
    ),
    [
      "Examples:",
      ...examples.map(exampleParts).map(({ run, note }) => `  ${run}${note ? `\n      ${note}` : ""}`),
    ].join("\n"),
    ...(more ? [more] : []),
  ];
  return `${parts.join("\n\n")}\n`;
}

const rootPage = (): Page => ({
  usage: "clm COMMAND [options]",
  description: ["Manages AI agents on Linux hosts over plain SSH."],
  sections: {
    Commands: catalog.map(({ name, summary }) => [name, summary]),
    "Global options": globalItems(globalsAnywhere),
  },
  examples: [
    "clm lab up --hosts 3   # three throw-away hosts on this machine",
    "clm host add wolf-i --address 192.168.1.20 --user maurice   # a real host",
    "clm host check --all",
  ],
  more: "More about a command: clm help COMMAND",
});

function nounPage({ name, summary, commands, nouns = [] }: Noun): Page {
  const shown = [...commands, ...nouns.flatMap((inner) => commandsOf(inner).slice(0, 1))];
  return {
    usage: `clm ${name} COMMAND [options]`,
    description: [capital(summary)],
    sections: {
      Commands: [
        ...commands.filter(({ hidden }) => !hidden).map((each): Items[number] => [lastWord(each.path), each.summary]),
        ...nouns.map((each): Items[number] => [lastWord(each.name), each.summary]),
      ],
      "Global options": globalItems(globalsAnywhere),
    },
    examples: shown.flatMap(({ examples }) => examples.slice(0, 1)),
    more: `More about a command: clm help ${name} COMMAND`,
  };
}

function commandPage(command: Command): Page {
  const { summary, description, args = {}, options = {}, examples } = command;
  return {
    usage: usageLine(command),
    description: [capital(summary), ...(description ? paragraphs(description) : [])],
    sections: {
      Arguments: Object.entries(args).map(([key, spec]) => [argTerm(key, spec), argSummary(spec)]),
      Options: optionItems(options),
      "Global options": globalItems(globalsOf(command), options),
    },
    examples,
  };
}

const optionItems = (specs: Record<string, OptionSpec>): Items =>
  Object.entries(specs).flatMap(
    ([key, spec]): Items => (spec.hidden ? [] : [[optionTerm(key, spec), optionSummary(spec)]]),
  );

const globalItems = (globals: Record<string, OptionSpec>, own: Record<string, OptionSpec> = {}): Items => [
  ...optionItems(globals),
  ...(own.version ? [] : [["--version", "print the version of clm"] satisfies Items[number]]),
  ["-h, --help", "show this help"],
];

function optionSummary({ summary, choices = [], default: preset }: OptionSpec): string {
  const more = [...choices, ...(preset === undefined ? [] : [`default ${preset}`])];
  return more.length > 0 ? `${summary} (${more.join(", ")})` : summary;
}
