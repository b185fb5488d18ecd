import type { Refusal } from "../request/refusal.js";
import type { AnswerKind } from "./pass.js";
import type { RenameId } from "./response-ids.js";
import type { StreamTap } from "./tap.js";

/** The end of a stream whose call failed, as clients of its path expect it; never the end of an answer. */
export function failedStream(
  refusal: Refusal,
  from: AnswerKind,
  tap: Pick<StreamTap, "lastResponse" | "sequence">,
  rename: RenameId = (id) => id,
): string {
  if (from !== "responses") return `data: ${refusal.body()}\n\n`;
  const { code, message } = refusal;
  const { id } = tap.lastResponse ?? {};
  const named = typeof id === "string" ? { id: rename(id) } : {};
  const response = { ...tap.lastResponse, ...named, status: "failed", error: { code, message }, output: [] };
  const event = { type: "response.failed", sequence_number: Math.max(0, tap.sequence), response };
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\n`;
}
