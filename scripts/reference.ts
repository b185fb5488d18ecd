import { machineChecks } from "../src/agents/doctor/machine-checks.js";
import { agentChecks } from "../src/agents/manifest/agent-checks.js";
import type { Command, Noun, OptionSpec } from "../src/cli/command.js";
import { globalsAnywhere } from "../src/cli/globals.js";
import { commandsOf, verbless } from "../src/cli/nouns.js";
import { argSummary, argTerm, capital, exampleParts, optionTerm, paragraphs, usageLine } from "../src/cli/spelling.js";
import { faults } from "../src/errors.js";

/** Generates docs/reference.md from the declarations. */
export function reference(nouns: readonly Noun[]): string {
  return [
    "# Reference",
    "Generated from the command declarations in `src/cli`; do not edit it by hand.",
    ...contents(nouns),
    "## Global options",
    "Accepted before or after the words of every command. `--output` exists if the command has a result to format, `--dry-run` if it changes something.",
    "An option that takes one value is refused when it is given twice. A list option may be repeated, as in `--channel discord --channel webhook`.",
    optionTable(globalsAnywhere),
    "## Environment variables",
    markdownTable(
      ["variable", ""],
      Object.entries(environment).map(([name, meaning]) => [code(name), meaning]),
    ),
    ...nouns.flatMap(nounSection),
    "## Doctor checks",
    "The ids are stable. An agent also has `channel.NAME` for each of its channels, and `log.CAUSE` for each known problem in its log, as listed in the manifest of its type. The checks of a host are those of `clm host check`.",
    checkTable(),
    "## Exit codes",
    "0 means success. `clm host exec` exits with the highest exit code of the hosts; 141 means that the reader of the output closed it.",
    exitTable(),
    "## Errors",
    "Every error has a stable code. With `-o json` it is printed on stderr as one JSON object.",
    faultTable(),
  ]
    .join("\n\n")
    .concat("\n");
}

const checkTable = (): string =>
  markdownTable(
    ["of", "check", "passes when"],
    Object.entries({ "this machine": machineChecks, "an agent": agentChecks }).flatMap(([of, checks]) =>
      Object.entries(checks).map(([id, meaning]) => [of, code(id), meaning]),
    ),
  );

const environment = {
  CLM_HOME: "clm's state directory, unless `--config-dir` is given (default `~/.config/clawrium`)",
  CLM_SSH_CONFIG: "the SSH configuration to read instead of `~/.ssh/config`",
  CLM_SUDO_PASSWORD: "the sudo password on the hosts, for scripts; `--sudo-password-file` has precedence",
  CLM_LAB_DIR: "directory of the lab hosts (default `/var/lib/clm-lab`)",
  CLM_LAB_CACHE: "cache of their base systems (default `/var/cache/clm-lab`)",
  NO_COLOR: "disables colours if it is not empty",
};

const visible = (noun: Noun): Command[] => commandsOf(noun).filter(({ hidden }) => !hidden);

function contents(nouns: readonly Noun[]): string[] {
  const rows = nouns.flatMap(visible).map(({ path, summary }) => [`[\`clm ${path}\`](#${anchor(path)})`, summary]);
  return [markdownTable(["command", "what it does"], rows)];
}

const anchor = (path: string): string => `clm-${path.replaceAll(" ", "-")}`;

function nounSection(noun: Noun): string[] {
  const about = verbless(noun) ? [] : [`${capital(noun.summary)}.`];
  return [`## ${noun.name}`, ...about, ...visible(noun).flatMap(commandSection)];
}

function commandSection(command: Command): string[] {
  const { path, summary, description, args = {}, options = {}, formats, examples, mutates } = command;
  const argRows = Object.entries(args).map(([key, spec]) => [code(argTerm(key, spec)), argSummary(spec)]);
  const extra = [
    formats && `\`-o\` takes ${formats.map(code).join(", ")}; the first is the default.`,
    mutates && "Takes `--dry-run`, and is written to the audit log.",
  ].filter((line) => typeof line === "string");
  return [
    `### clm ${path}`,
    `${capital(summary)}.`,
    fenced([usageLine(command)]),
    ...(description ? paragraphs(description) : []),
    ...(argRows.length > 0 ? [markdownTable(["argument", ""], argRows)] : []),
    ...(Object.keys(options).length > 0 ? [optionTable(options)] : []),
    ...(extra.length > 0 ? [extra.join(" ")] : []),
    fenced(examples.map(exampleParts).flatMap(({ run, note }) => (note ? [`# ${note}`, run] : [run]))),
  ];
}

function optionTable(options: Record<string, OptionSpec>): string {
  const shown = Object.entries(options).filter(([, { hidden }]) => !hidden);
  const rows = shown.map(([key, spec]) => [code(optionTerm(key, spec)), details(spec)]);
  return markdownTable(["option", ""], rows);
}

function details({ summary, choices, default: preset, min, max }: OptionSpec): string {
  const more = [
    choices && `one of ${choices.join(", ")}`,
    min !== undefined && max !== undefined && `${min} to ${max}`,
    preset !== undefined && `default ${String(preset)}`,
  ].filter((each) => typeof each === "string");
  return more.length > 0 ? `${summary} (${more.join("; ")})` : summary;
}

function exitTable(): string {
  const meanings = new Map<number, string[]>();
  for (const { exit, meaning } of Object.values(faults)) meanings.set(exit, [...(meanings.get(exit) ?? []), meaning]);
  const rows = [...meanings].sort(([a], [b]) => a - b).map(([exit, texts]) => [String(exit), texts.join("; ")]);
  return markdownTable(["exit code", "meaning"], rows);
}

function faultTable(): string {
  const rows = Object.entries(faults).map(([name, { code: id, who, exit, meaning }]) => [
    id,
    name,
    who,
    String(exit),
    meaning,
  ]);
  return markdownTable(["code", "name", "who must act", "exit code", "meaning"], rows);
}

const code = (text: string): string => `\`${text}\``;
const fenced = (lines: string[]): string => ["```sh", ...lines, "```"].join("\n");

function markdownTable(titles: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(titles), line(titles.map(() => "---")), ...rows.map(line)].join("\n");
}
