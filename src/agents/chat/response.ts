import { type Completion, errorText, failureIn, textOf } from "./completion.js";
import type { AnswerFailure, FailureSigns } from "./failure.js";

/** The members of an answer of /v1/responses that tell it from a failure. */
export interface ResponseObject extends Pick<Completion, "error" | "usage"> {
  id?: unknown;
  status?: unknown;
  output?: unknown;
}

export function textOfResponse({ output }: ResponseObject): string {
  if (!Array.isArray(output)) return "";
  return output.map((item) => (item?.type === "message" ? textOf(item.content) : "")).join("");
}

/** Why a response is a failed call, if it is one: its status may be `completed`, with the error as its text (seen live). */
export function failureInResponse(
  response: ResponseObject,
  headers: Record<string, string>,
  signs: FailureSigns,
  text = textOfResponse(response),
): AnswerFailure | undefined {
  const { status, error = null, usage } = response;
  const failed = status === "failed" || errorText({ error }) !== "";
  // A response that was cut at its maximum length is an answer.
  const finish = failed ? "error" : status === "incomplete" ? "length" : "stop";
  return failureIn({ text, finish, headers, said: { error }, usage, signs });
}
