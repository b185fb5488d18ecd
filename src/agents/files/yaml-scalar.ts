import { Scalar } from "yaml";

/**
 * Scalars as PyYAML reads them, which is YAML 1.1 with rules of its own: `on` is true, `8:30` is 510, `1e3` is a text.
 * Documents are parsed with the failsafe schema, so that whatever we do not touch is written again as it was.
 */

/** Something only Python has a type for, or a spelling of a number that nobody needs; equal to nothing of ours. */
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

/** What a scalar says to PyYAML. */
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

// Begins like no number and has nothing in it that YAML or a version of it could take for a sign.
const plain = /^[A-Za-z/]([A-Za-z0-9_./@+:-]*[A-Za-z0-9_/])?$/;
const words = /^(y|n|yes|no|on|off|true|false|null)$/i;

/** A scalar that every reader of YAML takes for exactly this value. */
export function scalarFor(value: string | number | boolean | null): Scalar {
  const quoted = typeof value === "string" && !(plain.test(value) && !words.test(value));
  const scalar = new Scalar(typeof value === "number" ? spelled(value) : String(value));
  scalar.type = quoted ? Scalar.QUOTE_DOUBLE : Scalar.PLAIN;
  return scalar;
}

/** To PyYAML 1e+21 is a text and 1.0e+21 a number. */
const spelled = (value: number): string => String(value).replace(/^(-?\d+)e/, "$1.0e");

/** What PyYAML refuses to see in a file, or takes for the end of a line. */
export const unwritable = /(?![\t\n])\p{Cc}|\p{Surrogate}|\p{Noncharacter_Code_Point}|[\u2028\u2029\ufeff]/u;
