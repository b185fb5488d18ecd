import { isIP } from "node:net";
import { Fault } from "../../errors.js";
import { Secret } from "../../secret.js";
import { own } from "../../text/own-property.js";
import type { Field } from "./manifest.js";

export type Values = Record<string, string | Secret>;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the point
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Normalizes an answer: trimmed, a list with single commas, yes and no as true and false. Empty means not answered. */
export function checkAnswer(field: Field, text: string): string {
  const answer = text.trim();
  if (answer === "") {
    if (field.required) throw refused(field, text, "it must be answered");
    return "";
  }
  if (control.test(answer)) throw refused(field, text, "it contains a line break or another control character");
  if (field.flag) return yesOrNo(field, answer);
  if (!field.list) return checkItem(field, answer);
  const items = answer.split(",").flatMap((item) => item.trim() || []);
  if (items.length === 0) throw refused(field, text, "it contains only commas");
  return [...new Set(items.map((item) => checkItem(field, item)))].join(",");
}

function yesOrNo(field: Field, answer: string): string {
  const word = answer.toLowerCase();
  if (["yes", "y", "true", "on", "1"].includes(word)) return "true";
  if (["no", "n", "false", "off", "0"].includes(word)) return "false";
  throw refused(field, answer, "it should be yes or no");
}

function checkItem(field: Field, item: string): string {
  if (field.choices && !field.choices.includes(item))
    throw refused(field, item, `it should be one of ${field.choices.join(", ")}`);
  if (field.listens && !isOpenPort(item)) throw refused(field, item, "it should be a port from 1024 to 65535");
  if (field.binds && isIP(item) === 0)
    throw refused(
      field,
      item,
      "it should be an address of the host: 127.0.0.1 for the host only, 0.0.0.0 for every network",
    );
  if (field.pattern && !new RegExp(field.pattern, "u").test(item))
    throw refused(field, item, field.means ?? `it should match ${field.pattern}`);
  return item;
}

/** A port that needs no root. */
const isOpenPort = (text: string): boolean =>
  /^[1-9]\d{3,4}$/.test(text) && Number(text) >= 1024 && Number(text) < 65_536;

/** Shows the answer only if it is not secret. */
function refused(field: Field, given: string, why: string): Fault {
  const shown = field.secret || given.trim() === "" ? field.name : `${field.name}: ${JSON.stringify(given)}`;
  return new Fault("bad-input", `${shown} is not allowed`, { why, data: { field: field.name } });
}

/** The given answers, with defaults for the others. */
export function answered(fields: Field[], values: Values): Values {
  const all = fields.map(({ name, default: otherwise }) => {
    const given = own(values, name);
    const text = given instanceof Secret ? given.reveal() : given;
    return [name, text ? given : otherwise] as const;
  });
  return Object.fromEntries(all.filter((entry): entry is [string, string | Secret] => entry[1] !== undefined));
}

export const publicValues = (values: Values): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value instanceof Secret ? [] : [[name, value]])),
  );
