import { Scalar } from "yaml";

/**
 * Scalars as PyYAML reads them: YAML 1.1 with its own rules, in which `on` is true, `8:30` is 510 and `1e3` is a string. Documents
 * are parsed with the failsafe schema, so that untouched scalars are written as they were.
 */

/** A value that only Python has a type for, or an unusual spelling of a number; equal to no value of clm's. */
class OtherScalar {
  constructor(readonly source: string) {}
}

export type Value = string | number | boolean | null | OtherScalar;
const truths = /^(yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const untruths = /^(no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const nothing = /^(~|null|Null|NULL|)$/;
const numbers = /^[-+]?(0|[1-9][0-9]*)$|^[-+]?[0-9]+\.[0-9]*([eE][-+][0-9]+)?$/;
const odd = [
  /^[-+]?0b[01_]+$|^[-+]?0[0-7_]+$|^[-+]?[1-9][0-9_]*$|^[-+]?0x[0-9a-fA-F_]+$|^[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+$/,
  /^[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?$|^\.[0-9][0-9_]*([eE][-+][0-9]+)?$/,
  /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*$|^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$/,
  /^\d{4}-\d\d-\d\d$|^\d{4}-\d\d?-\d\d?([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?([ \t]*(Z|[-+]\d\d?(:\d\d)?))?$/,
  /^(<<|=)$/,
];

export function scalarValue(node: Scalar): Value {
  const text = String(node.value);
  if (node.tag === "tag:yaml.org,2002:str") return text;
  if (node.tag !== undefined) return new OtherScalar(`${node.tag} ${text}`);
  if (node.type !== Scalar.PLAIN) return text;
  if (nothing.test(text)) return null;
  if (truths.test(text)) return true;
  if (untruths.test(text)) return false;
  if (numbers.test(text)) return Number(text);
  return odd.some((pattern) => pattern.test(text)) ? new OtherScalar(text) : text;
}

// Cannot be taken for a number, and contains no character that is special in any version of YAML.
const plain = /^[A-Za-z/]([A-Za-z0-9_./@+:-]*[A-Za-z0-9_/])?$/;
const words = /^(y|n|yes|no|on|off|true|false|null)$/i;

/** A scalar that every YAML reader reads as exactly this value. */
export function scalarFor(value: string | number | boolean | null): Scalar {
  const quoted = typeof value === "string" && !(plain.test(value) && !words.test(value));
  const scalar = new Scalar(typeof value === "number" ? spelled(value) : String(value));
  scalar.type = quoted ? Scalar.QUOTE_DOUBLE : Scalar.PLAIN;
  return scalar;
}

/** PyYAML reads 1e+21 as a string and 1.0e+21 as a number. */
const spelled = (value: number): string => String(value).replace(/^(-?\d+)e/, "$1.0e");

/** Characters that PyYAML refuses in a file, or treats as a line end. */
export const unwritable = /(?![\t\n])\p{Cc}|\p{Surrogate}|\p{Noncharacter_Code_Point}|[\u2028\u2029\ufeff]/u;
