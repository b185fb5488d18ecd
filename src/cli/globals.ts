import { type Command, choice, type Format, flag, type OptionSpec, text } from "./command.js";

export interface Globals {
  configDir: string | undefined;
  sudoPasswordFile: string | undefined;
  format: Format;
  yes: boolean;
  dryRun: boolean;
  quiet: boolean;
  debug: boolean;
  noColor: boolean;
}

export const globalsOf = ({ formats, mutates }: Pick<Command, "formats" | "mutates">): Record<string, OptionSpec> => ({
  configDir: text("DIR", "directory of clm's state (default: $CLM_HOME or ~/.config/clawrium)", {
    completes: "directory",
  }),
  ...(formats && { output: choice("FORMAT", formats, "output format", { short: "o" }) }),
  ...(mutates && { dryRun: flag("show what would be done and change nothing") }),
  yes: flag("confirm destructive actions without asking", { short: "y" }),
  quiet: flag("print only results, warnings and errors", { short: "q" }),
  debug: flag("print every step, and the stack trace of an error"),
  noColor: flag("disable colours"),
});

/** Accepted before the command's name; `parse` checks later whether the command has them. */
export const globalsAnywhere = globalsOf({ formats: ["table", "json", "yaml", "name"], mutates: true });
