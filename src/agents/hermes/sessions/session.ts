/** A conversation as an agent keeps it. */
export interface Session {
  id: string;
  /** Where it was held: `cli`, `api_server`, `telegram` and so on. */
  source: string | null;
  title: string | null;
  model: string | null;
  started: string | null;
  lastActive: string | null;
  ended: string | null;
  messages: number;
  tokens: { input: number; output: number };
  /** The session it goes on from. */
  parent: string | null;
  archived: boolean;
}

/** One message of it. */
export interface Message {
  id: number | null;
  role: string;
  at: string | null;
  text: string;
  /** The tools the model called, each with its arguments as they were given. */
  calls: { name: string; arguments: string }[];
  /** The tool whose answer it is. */
  tool: string | null;
}

/** A row as it came: columns differ from version to version. */
export type Row = Record<string, unknown>;

export function sessionFrom(row: Row): Session {
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

export function messageFrom(row: Row): Message {
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

/** The messages of a session. Hermes 0.13 leaves the tool out of an answer's row (seen live): it is that of the call it answers. */
export function messagesFrom(rows: readonly Row[]): Message[] {
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

/** A text, or parts of which the texts are told and the rest is named. */
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

function callFrom(call: unknown): Message["calls"][number] {
  const of = fieldsOf(fieldsOf(call).function ?? call);
  const given = of.arguments ?? "";
  return { name: textOf(of.name) ?? "?", arguments: typeof given === "string" ? given : JSON.stringify(given) };
}

export const fieldsOf = (value: unknown): Row => (typeof value === "object" && value !== null ? (value as Row) : {});

/** SQLite keeps in a column what it is given, whatever its type. */
const textOf = (value: unknown): string | null => (value === null || value === undefined ? null : String(value));

const numberOf = (value: unknown): number => (Number.isFinite(Number(value)) ? Number(value) : 0);

/** Times are seconds since 1970. */
function timeOf(value: unknown): string | null {
  const time = new Date(value === null || value === undefined ? Number.NaN : Number(value) * 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
