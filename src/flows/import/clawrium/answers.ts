import { checkAnswer } from "../../../agents/manifest/fields.js";
import type { Field } from "../../../agents/manifest/manifest.js";
import { isFault } from "../../../errors.js";
import { addressFrom, isAddress } from "../../provider/address.js";

export interface Carried {
  fields: Record<string, string>;
  /** Names of what could not be carried over. */
  dropped: string[];
}

/** The answers among `given` that the fields take, as clm keeps them. */
export function answersFrom(fields: Field[], given: Record<string, unknown>): Carried {
  const carried: Carried = { fields: {}, dropped: [] };
  for (const [name, value] of Object.entries(given)) {
    const text = textOf(value);
    if (text === "") continue;
    const field = fields.find((each) => each.name === name && !each.secret);
    const answer = field && text !== undefined ? allowed(field, text) : undefined;
    if (answer) carried.fields[name] = answer;
    else carried.dropped.push(name);
  }
  return carried;
}

/** A list as a text with commas; nothing when it is no answer at all. */
function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value.trim();
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? value.map((item) => textOf(item) ?? "").join(",") : undefined;
}

function allowed(field: Field, text: string): string | undefined {
  try {
    return checkAnswer(field, isAddress(field) ? addressFrom(text) : text);
  } catch (error) {
    if (isFault(error, "bad-input")) return undefined;
    throw error;
  }
}
