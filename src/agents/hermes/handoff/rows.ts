import { isRecord } from "../../../text/record.js";
import type { HandoffStore } from "../../handoff/store.js";
import type { Part, ToolCall, TranscriptMessage } from "../../handoff/transcript.js";
import { fieldsOf } from "../sessions/rows.js";

const roles: readonly string[] = ["user", "assistant", "tool"];

/** Without system prompts, which stay with the agent, and a model's reasoning, which another cannot read. */
export const transcriptFrom: HandoffStore["transcriptFrom"] = (rows, started = 0) => {
  let at = started;
  return rows
    .filter(({ role }) => roles.includes(String(role)))
    .map((row) => {
      at = typeof row.timestamp === "number" ? row.timestamp : at;
      const role = row.role as TranscriptMessage["role"];
      const calls = role === "assistant" && Array.isArray(row.tool_calls) ? row.tool_calls.flatMap(callFrom) : [];
      const answers = role === "tool" && { answers: { id: textOf(row.tool_call_id), tool: textOf(row.tool_name) } };
      return { role, content: contentFrom(row.content), calls, ...answers, at };
    });
};

function contentFrom(content: unknown): TranscriptMessage["content"] {
  if (Array.isArray(content)) return content.map(partFrom);
  if (content === null || content === undefined) return "";
  return typeof content === "string" ? content : JSON.stringify(content);
}

const partFrom = (part: unknown): Part =>
  isRecord(part) ? (part as Part) : { type: "text", text: typeof part === "string" ? part : JSON.stringify(part) };

function callFrom(call: unknown): ToolCall[] {
  const { id, function: inner } = fieldsOf(call);
  const { name, arguments: given } = fieldsOf(inner ?? call);
  if (textOf(id) === "" || textOf(name) === "") return [];
  const text = typeof given === "string" ? given : JSON.stringify(given ?? {});
  return [{ id: textOf(id), name: textOf(name), arguments: text }];
}

const textOf = (value: unknown): string => (value === null || value === undefined ? "" : String(value));
