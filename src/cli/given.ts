import type { Command as Commander } from "commander";
import type { Command, OptionSpec } from "./command.js";
import { type Globals, globalsOf } from "./globals.js";
import { givenTwice } from "./options.js";
import { longOption } from "./spelling.js";
import { usage } from "./usage.js";

/** What was given, by the names the declaration uses. */
export function optionValues(commander: Commander, specs: Record<string, OptionSpec>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(specs).map(([key, spec]) => [key, given(commander, key) ?? unset(spec)]));
}

const unset = ({ kind }: OptionSpec): unknown => (kind === "flag" ? false : kind === "list" ? [] : undefined);

/** The value of one option, or nothing. Commander keeps a `--no-color` that was given as `false`. */
function given(commander: Commander, key: string): unknown {
  const option = commander.options.find(({ long }) => long === longOption(key));
  if (!option) return undefined;
  const value = commander.getOptionValue(option.attributeName());
  return option.negate ? value === false : value;
}

/** What was given, on the command or before it: `clm --debug host list` is `clm host list --debug`. */
export function globalsFrom(commander: Commander, command: Command): Globals {
  const allowed = globalsOf(command);
  const value = (key: string): unknown => {
    let value: unknown;
    for (let at: Commander | null = commander; at; at = at.parent) {
      const found = given(at, key);
      if (found === undefined || found === false) continue;
      const spec = allowed[key];
      if (!spec) throw usage(`clm ${command.path}`, `clm ${command.path} has no option ${longOption(key)}`);
      if (value !== undefined && spec.kind !== "flag") throw givenTwice(`clm ${command.path}`, longOption(key));
      value = found;
    }
    return value;
  };
  const configDir = value("configDir");
  const output = value("output");
  const formats = command.formats ?? ["table"];
  const format = output === undefined ? formats[0] : formats.find((each) => each === output);
  if (!format) throw usage(`clm ${command.path}`, `--output is one of ${formats.join(", ")}, not '${output}'`);
  return {
    configDir: typeof configDir === "string" ? configDir : undefined,
    format,
    yes: value("yes") === true,
    dryRun: value("dryRun") === true,
    quiet: value("quiet") === true,
    debug: value("debug") === true,
    noColor: value("noColor") === true,
  };
}
