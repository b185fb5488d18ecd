import { objectFrom } from "../../text/json-object.js";
import { type AnswerFailure, emptyAnswer, type FailureSigns, failureInText, failureSaying } from "./failure.js";

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
  error?: { message?: unknown } | string | null;
}

export const completionFrom = (body: string): Completion | undefined => objectFrom<Completion>(body);

export function errorText({ error }: Completion): string {
  const text = typeof error === "object" ? error?.message : error;
  return typeof text === "string" ? text : "";
}

export const hasError = ({ error }: Completion): boolean => error !== undefined && error !== null;

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

/** Whether it reports usage, and all of it as zero: a model that answered used tokens. */
export function reportsNoTokens(usage: TokenUsage | null | undefined): boolean {
  const counts = [usage?.prompt_tokens, usage?.completion_tokens, usage?.input_tokens, usage?.output_tokens];
  const reported = counts.filter((count) => count !== undefined && count !== null);
  return reported.length > 0 && reported.every((count) => count === 0);
}

export interface WholeAnswer {
  text: string;
  finish: unknown;
  headers: Record<string, string>;
  /** The completion itself, or what the chunks of a streamed one reported about errors. */
  said: Completion;
  usage: TokenUsage | null | undefined;
  signs: FailureSigns;
}

/** Why an answer is a failed call, if it is one: agents report failed calls with HTTP 200 (seen live). */
export function failureIn({ text, finish, headers, said, usage, signs }: WholeAnswer): AnswerFailure | undefined {
  const trimmed = text.trim();
  const { extension } = signs;
  if (finish === "error" || hasError(said) || extension?.isFailed({ said, headers, finish })) {
    const reason = extension?.text({ said, headers }) || errorText(said);
    return reason
      ? { ...failureSaying(reason, signs), asAnswer: trimmed === reason.trim() }
      : { ...failureSaying(trimmed || "it does not say why", signs), asAnswer: true };
  }
  if (trimmed === "") return emptyAnswer;
  return failureInText(trimmed, reportsNoTokens(usage), signs);
}
