import { isRecord } from "../../../text/record.js";
import type { HandoffStore } from "../../handoff/store.js";
import { countsOf, type Part, type ToolCall, type TranscriptMessage } from "../../handoff/transcript.js";
import { fieldsOf } from "../sessions/sessions.js";
import { onStateDb } from "../state-db/program.js";
import channelProgram from "./channel.py?raw";
import program from "./program.py?raw";

/** In SQL at every version: the API has sessions from 0.15 on, but takes no messages for them. */
export const change: HandoffStore["change"] = (request, paths) => onStateDb(program, request, paths, "its own");
export const toChannel: HandoffStore["toChannel"] = (request, paths) => onStateDb(channelProgram, request, paths);

/** Every version has these columns. */
export const rowOf: HandoffStore["rowOf"] = ({ role, content, calls, answers, at }) => ({
  role,
  content,
  timestamp: at,
  tool_calls:
    calls.length === 0
      ? null
      : calls.map(({ id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: given } })),
  ...(answers && { tool_call_id: answers.id, tool_name: answers.tool }),
  ...(role === "assistant" && { finish_reason: calls.length > 0 ? "tool_calls" : "stop" }),
});

/** Without costs, which were paid elsewhere, and without a system prompt, which the agent makes itself. */
export const sessionRow: HandoffStore["sessionRow"] = (messages, title, model) => ({
  source: "api_server",
  title: title.replace(/\s+/g, " ").trim() || null,
  model: model ?? null,
  started_at: messages[0]?.at ?? 0,
  ...countsOf(messages),
});

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
