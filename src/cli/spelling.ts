import type { ArgSpec, Command, OptionSpec } from "./command.js";

/** How declarations are spelled on a command line, in help, errors, completion and the reference page. */

export const dashed = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** `acceptNew` → `--accept-new`. */
export const longOption = (key: string): string => `--${dashed(key)}`;

/** `-o, --output FORMAT`. */
export function optionTerm(key: string, { short, placeholder }: OptionSpec): string {
  return `${short ? `-${short}, ` : ""}${longOption(key)}${placeholder ? ` ${placeholder}` : ""}`;
}

/** `oldName` → `OLD-NAME`. */
export const argName = (key: string): string => dashed(key).toUpperCase();

/** `NAME`, `[NAME]`, `[NAMES...]`, `-- COMMAND...`. */
export function argTerm(key: string, { kind }: ArgSpec): string {
  const name = argName(key);
  if (kind === "required") return name;
  if (kind === "command") return `-- ${name}...`;
  return kind === "rest" ? `[${name}...]` : `[${name}]`;
}

export const argSummary = ({ summary, choices }: ArgSpec): string =>
  choices ? `${summary} (${choices.join(", ")})` : summary;

/** `clm host add [options] NAME`. */
export function usageLine(command: Command): string {
  const args = Object.entries(command.args ?? {}).map(([key, spec]) => argTerm(key, spec));
  return ["clm", command.path, "[options]", ...args].join(" ");
}

/** The paragraphs of a description, without the line breaks of the source. */
export const paragraphs = (description: string): string[] =>
  description.split(/\n{2,}/).map((paragraph) => paragraph.replace(/\s*\n\s*/g, " ").trim());

/** Splits `clm audit --last 20   # the newest` into the command and the comment. */
export function exampleParts(example: string): { run: string; note: string | undefined } {
  const [run = "", note] = example.split("   # ");
  return { run, note };
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
