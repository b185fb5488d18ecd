import { type Command, choice, type Format, flag, type OptionSpec, text } from "./command.js";

/** The values of the options that every command has. */
export interface Globals {
  configDir: string | undefined;
  format: Format;
  yes: boolean;
  dryRun: boolean;
  quiet: boolean;
  debug: boolean;
  noColor: boolean;
}

const everywhere: Record<string, OptionSpec> = {
  configDir: text("DIR", "directory of clm's state (default: $CLM_HOME or ~/.config/clawrium)", {
    completes: "directory",
  }),
  yes: flag("confirm destructive actions without asking", { short: "y" }),
  quiet: flag("print only results, warnings and errors", { short: "q" }),
  debug: flag("print every step, and the stack trace of an error"),
  noColor: flag("disable colours"),
};

/** The global options of a command: `-o` if it has formats, `--dry-run` if it changes something. */
export function globalsOf(command: Pick<Command, "formats" | "mutates">): Record<string, OptionSpec> {
  const { configDir, ...others } = everywhere;
  return {
    ...(configDir && { configDir }),
    ...(command.formats && {
      output: choice("FORMAT", command.formats, "output format", { short: "o" }),
    }),
    ...(command.mutates && { dryRun: flag("show what would be done and change nothing") }),
    ...others,
  };
}

/** Accepted before the command's name; `parse` checks later whether the command has them. */
export const globalsAnywhere = globalsOf({ formats: ["table", "json", "yaml", "name"], mutates: true });
