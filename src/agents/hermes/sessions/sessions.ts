import { proofSessions } from "../../probe/proof/session.js";
import type { ChatSession, Row, SessionMessage, SessionStore } from "../../sessions/sessions.js";
import { onStateDb } from "../state-db/program.js";
import program from "./program.py?raw";

/** Sessions of proofs are shown only when asked for by id. */
export const query: SessionStore["query"] = (query, paths) =>
  onStateDb(program, { ...query, hidden_prefix: proofSessions }, paths);

export function sessionFrom(row: Row): ChatSession {
  return {
    id: textOf(row.id) ?? "",
    source: textOf(row.source),
    title: textOf(row.title),
    model: textOf(row.model),
    started: timeOf(row.started_at),
    lastActive: timeOf(row.last_active),
    ended: timeOf(row.ended_at),
    messages: numberOf(row.message_count),
    tokens: { input: numberOf(row.input_tokens), output: numberOf(row.output_tokens) },
    parent: textOf(row.parent_session_id),
    archived: numberOf(row.archived) === 1,
  };
}

export function messageFrom(row: Row): SessionMessage {
  const calls = Array.isArray(row.tool_calls) ? row.tool_calls : [];
  return {
    id: typeof row.id === "number" ? row.id : null,
    role: textOf(row.role) ?? "",
    at: timeOf(row.timestamp),
    text: contentText(row.content),
    calls: calls.map(callFrom),
    tool: textOf(row.tool_name),
  };
}

/** Hermes 0.13 leaves the tool out of an answer's row (seen live): it is that of the call it answers. */
export function messagesFrom(rows: readonly Row[]): SessionMessage[] {
  const called = new Map<string, string>();
  return rows.map((row) => {
    const message = messageFrom(row);
    for (const call of Array.isArray(row.tool_calls) ? row.tool_calls : []) {
      const id = textOf(fieldsOf(call).id);
      if (id !== null) called.set(id, callFrom(call).name);
    }
    return { ...message, tool: message.tool ?? called.get(textOf(row.tool_call_id) ?? "") ?? null };
  });
}

/** Of a message in parts, the texts; other parts are named. */
function contentText(content: unknown): string {
  if (content === null || content === undefined) return "";
  if (!Array.isArray(content)) return typeof content === "string" ? content : JSON.stringify(content);
  return content.map(partText).join("\n");
}

function partText(part: unknown): string {
  if (typeof part !== "object" || part === null) return String(part);
  const { type, text } = part as Row;
  return typeof text === "string" ? text : `[${typeof type === "string" ? type : "part"}]`;
}

function callFrom(call: unknown): SessionMessage["calls"][number] {
  const of = fieldsOf(fieldsOf(call).function ?? call);
  const given = of.arguments ?? "";
  return { name: textOf(of.name) ?? "?", arguments: typeof given === "string" ? given : JSON.stringify(given) };
}

export const fieldsOf = (value: unknown): Row => (typeof value === "object" && value !== null ? (value as Row) : {});

/** SQLite columns accept values of any type. */
const textOf = (value: unknown): string | null => (value === null || value === undefined ? null : String(value));
const numberOf = (value: unknown): number => (Number.isFinite(Number(value)) ? Number(value) : 0);

/** Times are seconds since 1970. */
function timeOf(value: unknown): string | null {
  const time = new Date(value === null || value === undefined ? Number.NaN : Number(value) * 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
