import { jsonExcess } from "../../text/json-limits.js";
import { isRecord } from "../../text/record.js";
import { bytesPerToken, tokensInBytes } from "../../text/tokens.js";
import { Refusal, wrongModel } from "./refusal.js";

/** The members of a request that decide how it is passed on. */
export interface ModelRequest {
  model: string;
  /** Tokens, estimated by length. */
  input: number;
  /** The maximum tokens of the answer, if the caller set one. */
  output?: number;
  members: Readonly<Record<string, unknown>>;
  withModel(model: string): Buffer;
  withMembers(changes: object): Buffer;
}

export function parseModelRequest(body: Buffer): ModelRequest {
  const said = parsed(body);
  const { model } = said;
  if (typeof model !== "string" || model === "") {
    throw wrongModel(400, "missing_model", "The body must name a `model`, as GET /v1/models lists them.");
  }
  if (model.length > longestModel) {
    throw wrongModel(400, "invalid_model", `A model's name has at most ${longestModel} characters.`);
  }
  const most = [said.max_completion_tokens, said.max_output_tokens, said.max_tokens].find(isCount);
  return {
    model,
    input: tokensInBytes(spokenIn.reduce((sum, name) => sum + bytesIn(said[name]), 0)),
    members: said,
    ...(most !== undefined && { output: Math.min(most, longestOutput) }),
    withModel: (other) => Buffer.from(JSON.stringify({ ...said, model: other })),
    withMembers: (changes) => Buffer.from(JSON.stringify({ ...said, ...changes })),
  };
}

// Characters. The name is looked up, logged and kept while its call is in flight.
const longestModel = 512;
const spokenIn = ["messages", "input", "instructions", "prompt", "tools", "conversation_history"];

// Tokens. No answer is as long, and a number beyond what a double counts exactly could not be released again.
const longestOutput = 10_000_000;
const excesses = { "too-deep": "is nested too deeply", "too-many": "has too many values" };

/** Refuses JSON that takes long to parse: all other requests would wait. */
function parsed(body: Buffer): Record<string, unknown> {
  const text = body.toString("utf8");
  const excess = jsonExcess(text);
  if (excess) throw new Refusal(400, "invalid_json", `The body ${excesses[excess]}.`);
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    // The parser's message would repeat a part of it.
    throw new Refusal(400, "invalid_json", "The body is not JSON.");
  }
  if (isRecord(said)) return said;
  throw new Refusal(400, "invalid_json", "The body must be a JSON object.");
}

const isCount = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value > 0;

// An image costs a model the same however many bytes it has.
const imageBytes = 4000;

/** Bytes of all texts in a value, and so many for each image. A number may be a token that the caller encoded. */
function bytesIn(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number") return bytesPerToken;
  if (typeof value !== "object" || value === null) return 0;
  if (isImage(value)) {
    const { image_url: _, ...rest } = value;
    return imageBytes + bytesIn(rest);
  }
  let sum = 0;
  for (const each of Array.isArray(value) ? value : Object.values(value)) sum += bytesIn(each);
  return sum;
}

/** An image part of a message, as in chat completions and responses. */
function isImage(value: { type?: unknown; image_url?: unknown }): value is { image_url: unknown } {
  const { type, image_url: image } = value;
  if (type !== "image_url" && type !== "input_image") return false;
  const url = typeof image === "object" && image !== null ? (image as { url?: unknown }).url : image;
  return typeof url === "string" && url.startsWith("data:image/");
}
