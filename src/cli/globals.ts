import { type Command, choice, type Format, flag, type OptionSpec, text } from "./command.js";

/** The options that mean the same on every command, as they were given. */
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
  configDir: text("DIR", "where clm keeps its state (default: $CLM_HOME or ~/.config/clawrium)", {
    completes: "directory",
  }),
  yes: flag("answer yes to questions before something is destroyed", { short: "y" }),
  quiet: flag("say nothing but results, warnings and errors", { short: "q" }),
  debug: flag("tell every step, and where an error came from"),
  noColor: flag("no colours"),
};

/** The global options a command takes: `-o` where there is something to format, `--dry-run` where something changes. */
export function globalsOf(command: Pick<Command, "formats" | "mutates">): Record<string, OptionSpec> {
  const { configDir, ...others } = everywhere;
  return {
    ...(configDir && { configDir }),
    ...(command.formats && {
      output: choice("FORMAT", command.formats, "how to print the result", { short: "o" }),
    }),
    ...(command.mutates && { dryRun: flag("tell what would be done and change nothing") }),
    ...others,
  };
}

/** Before the command's name all of them may stand; whether the command takes them is seen later. */
export const globalsAnywhere = globalsOf({ formats: ["table", "json", "yaml", "name"], mutates: true });
