import { objectFrom } from "../../json-object.js";

/** The members of a chat completion, or of a chunk of one, that tell an answer from a failure. */
export interface Completion {
  choices?: { finish_reason?: unknown; message?: { content?: unknown }; delta?: { content?: unknown } }[];
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown };
  hermes?: { failed?: unknown; completed?: unknown; error?: unknown };
  error?: { message?: unknown } | string;
}

export const completionFrom = (body: string): Completion | undefined => objectFrom<Completion>(body);

/** What it says went wrong; empty when it says nothing. */
export function errorText({ error, hermes }: Completion): string {
  const texts = [hermes?.error, typeof error === "object" ? error?.message : error];
  return texts.find((text): text is string => typeof text === "string" && text !== "") ?? "";
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

/** All there is to tell an answer by. */
export interface Whole {
  text: string;
  finish: unknown;
  headers: Record<string, string>;
  /** The completion itself, or the last chunk of a streamed one. */
  said: Completion;
  /** What the texts of failures begin with. */
  failures: readonly string[];
}

/**
 * Why an answer is none, if it is none. A call that failed is told as an answer with HTTP 200 at every version (seen live):
 * the older ones give only the text away, later ones a finish_reason, a `hermes` member and headers.
 */
export function failureIn({ text, finish, headers, said, failures }: Whole): string | undefined {
  const trimmed = text.trim();
  const why = errorText(said) || headers["x-hermes-error"] || trimmed || "it does not say why";
  if (finish === "error" || said.hermes?.failed === true || said.error !== undefined) return why;
  // An answer cut at its length is an answer, and not a completed one.
  if (headers["x-hermes-completed"] === "false" && finish !== "length") return why;
  if (trimmed === "") return "it is empty";
  return failures.some((start) => trimmed.startsWith(start)) ? trimmed : undefined;
}
