import { Refusal } from "./refusal.js";

/** What must be known of a request to send it on. */
export interface Asked {
  model: string;
  /** Tokens, by the length of what is said. */
  input: number;
  /** Tokens the answer may have at most, if the caller said so. */
  output?: number;
  /** The same for another model. */
  as(model: string): Buffer;
}

export function askedIn(body: Buffer): Asked {
  const said = parsed(body);
  const { model } = said;
  if (typeof model !== "string" || model === "") {
    throw new Refusal(400, "missing_model", "The body must name a `model`, as GET /v1/models lists them.", {
      param: "model",
    });
  }
  const output = [said.max_completion_tokens, said.max_output_tokens, said.max_tokens].find(isCount);
  return {
    model,
    input: tokensIn(lengthOf([said.messages, said.input, said.instructions, said.prompt, said.tools])),
    ...(output !== undefined && { output }),
    as: (other) => Buffer.from(JSON.stringify({ ...said, model: other })),
  };
}

function parsed(body: Buffer): Record<string, unknown> {
  let said: unknown;
  try {
    said = JSON.parse(body.toString("utf8"));
  } catch {
    // Why it is none would repeat a part of it.
    throw new Refusal(400, "invalid_json", "The body is not JSON.");
  }
  if (typeof said === "object" && said !== null && !Array.isArray(said)) return said as Record<string, unknown>;
  throw new Refusal(400, "invalid_json", "The body must be a JSON object.");
}

const isCount = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value > 0;

/** Four characters are about a token. */
export const tokensIn = (length: number): number => Math.ceil(length / 4);

// In characters. An image is one to a model however many bytes it has.
const imageLength = 4000;

/** Characters of text anywhere inside, and so many for each image. */
function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.startsWith("data:") ? imageLength : value.length;
  if (typeof value !== "object" || value === null) return 0;
  let sum = 0;
  for (const each of Array.isArray(value) ? value : Object.values(value)) sum += lengthOf(each);
  return sum;
}
