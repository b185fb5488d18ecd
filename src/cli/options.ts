import { type Command as Commander, Option } from "commander";
import type { Fault } from "../errors.js";
import { nearest } from "../text/nearest.js";
import type { OptionSpec } from "./command.js";
import { longOption } from "./spelling.js";
import { pathOf, usage } from "./usage.js";

/** An option as commander knows it. */
export function toOption(commander: Commander, key: string, spec: OptionSpec): Option {
  const { short, placeholder, choices, summary } = spec;
  const long = longOption(key);
  const option = new Option(`${short ? `-${short}, ` : ""}${long}${placeholder ? ` <${placeholder}>` : ""}`, summary);
  // Commander keeps `--no-x` where it keeps `--x`, and the last one would win; each is an option of its own.
  option.attributeName = () => key;
  if (choices) option.choices(choices);
  if (spec.default !== undefined) option.default(spec.default);
  if (spec.kind === "flag") return option;
  return option.argParser((value: string, before: unknown) => {
    // Commander takes the next word whatever it is: `--address --user x` would connect to a host called `--user`.
    const path = pathOf(commander);
    if (value === "" || commander.options.some((other) => other.long === value)) {
      throw usage(path, `${long} needs a value: ${long} ${placeholder}`);
    }
    if (spec.kind === "list") return [...(Array.isArray(before) ? before : []), value];
    // Commander would keep the last one: `agent install --host a --host b` would never mention a.
    if (commander.getOptionValueSource(key) === "cli") throw givenTwice(path, long);
    if (spec.kind === "number") return numberFrom(path, long, value, spec);
    if (choices && !choices.includes(value)) {
      throw usage(path, `${long} is one of ${choices.join(", ")}, not '${value}'`, nearest(value, choices));
    }
    return value;
  });
}

/** A second value for an option that takes one. Which of the two was meant cannot be known. */
export const givenTwice = (path: string, long: string): Fault =>
  usage(path, `${long} is given twice and takes one value`);

function numberFrom(
  path: string,
  long: string,
  text: string,
  { min = 0, max = Number.MAX_SAFE_INTEGER }: OptionSpec,
): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of ${min} or more`;
  throw usage(path, `${long} is a whole number ${range}, not '${text}'`);
}
