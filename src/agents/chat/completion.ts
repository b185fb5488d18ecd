import { objectFrom } from "../../text/json-object.js";
import { type AnswerFailure, emptyAnswer, type FailureForms, failureInText, failureSaying } from "./failure.js";

/** The members that count tokens, of chat completions and of responses. */
export interface TokenUsage {
  prompt_tokens?: unknown;
  completion_tokens?: unknown;
  input_tokens?: unknown;
  output_tokens?: unknown;
}

/** The members of a chat completion, or of a chunk of one, that tell an answer from a failure. */
export interface Completion {
  choices?: {
    finish_reason?: unknown;
    message?: { content?: unknown; tool_calls?: unknown };
    delta?: { content?: unknown; tool_calls?: unknown };
  }[];
  usage?: TokenUsage | null;
  hermes?: { failed?: unknown; completed?: unknown; error?: unknown };
  error?: { message?: unknown } | string | null;
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

/** Whether usage is reported, and as nothing at all: a model that spoke used tokens. Not known when nothing is reported. */
export function reportsNoTokens(usage: TokenUsage | null | undefined): boolean {
  const counts = [usage?.prompt_tokens, usage?.completion_tokens, usage?.input_tokens, usage?.output_tokens];
  const reported = counts.filter((count) => count !== undefined && count !== null);
  return reported.length > 0 && reported.every((count) => count === 0);
}

/** All there is to tell an answer by. */
export interface Whole {
  text: string;
  finish: unknown;
  headers: Record<string, string>;
  /** The completion itself, or the last chunk of a streamed one. */
  said: Completion;
  usage: TokenUsage | null | undefined;
  forms: FailureForms;
}

/**
 * Why an answer is a failed call, if it is one. A failed call is reported as an answer with HTTP 200 at every version (seen live):
 * the older ones give only the text away, later ones a finish_reason, a `hermes` member and headers.
 */
export function failureIn({ text, finish, headers, said, usage, forms }: Whole): AnswerFailure | undefined {
  const trimmed = text.trim();
  const explicit = () => {
    const told = errorText(said) || headers["x-hermes-error"];
    return told
      ? { ...failureSaying(told, forms), asAnswer: trimmed === told.trim() }
      : { ...failureSaying(trimmed || "it does not say why", forms), asAnswer: true };
  };
  if (finish === "error" || said.hermes?.failed === true || isError(said.error)) return explicit();
  // An answer cut at its length is an answer, and not a completed one.
  if (headers["x-hermes-completed"] === "false" && finish !== "length") return explicit();
  if (trimmed === "") return emptyAnswer;
  return failureInText(trimmed, reportsNoTokens(usage), forms);
}

const isError = (error: unknown): boolean => error !== undefined && error !== null;
