import type { Field } from "../../../agents/manifest/manifest.js";
import { isFault } from "../../../errors.js";
import { checkAnswerOrAddress } from "../../provider/address.js";

/** The values among `given` that are valid for the fields, and the names of the others. */
export function answersFrom(
  fields: Field[],
  given: Record<string, unknown>,
): { fields: Record<string, string>; dropped: string[] } {
  const answers: ReturnType<typeof answersFrom> = { fields: {}, dropped: [] };
  for (const [name, value] of Object.entries(given)) {
    const text = textOf(value);
    if (text === "") continue;
    const field = fields.find((each) => each.name === name && !each.secret);
    const answer = field && text !== undefined ? allowed(field, text) : undefined;
    if (answer) answers.fields[name] = answer;
    else answers.dropped.push(name);
  }
  return answers;
}

/** A list becomes comma-separated text; undefined when it is not an answer. */
function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value.trim();
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? value.map((item) => textOf(item) ?? "").join(",") : undefined;
}

function allowed(field: Field, text: string): string | undefined {
  try {
    return checkAnswerOrAddress(field, text);
  } catch (error) {
    if (isFault(error, "bad-input")) return undefined;
    throw error;
  }
}
