import { errorText, failureIn, type TokenUsage, textOf } from "./completion.js";
import type { AnswerFailure, FailureForms } from "./failure.js";

/** The members of an answer of /v1/responses that tell it from a failure. */
export interface ResponseObject {
  id?: unknown;
  status?: unknown;
  error?: { message?: unknown } | string | null;
  output?: unknown;
  usage?: TokenUsage | null;
}

/** What the assistant says in it. */
export function textOfResponse({ output }: ResponseObject): string {
  if (!Array.isArray(output)) return "";
  return output.map((item) => (item?.type === "message" ? textOf(item.content) : "")).join("");
}

/**
 * Why a response is a failed call, if it is one. A failed call is `completed` at every version of Hermes, with the error as its text
 * (seen live); in a stream versions up to 0.15 end it as `failed`.
 */
export function failureInResponse(
  response: ResponseObject,
  headers: Record<string, string>,
  forms: FailureForms,
  said = textOfResponse(response),
): AnswerFailure | undefined {
  const { status, error, usage } = response;
  const failed = status === "failed" || errorText({ error: error ?? null }) !== "";
  // One that was cut at its longest is an answer.
  const finish = failed ? "error" : status === "incomplete" ? "length" : "stop";
  return failureIn({ text: said, finish, headers, said: { error: error ?? null }, usage, forms });
}
