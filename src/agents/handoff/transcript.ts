import { createHash } from "node:crypto";
import { isRecord } from "../../text/record.js";
import { fieldsOf, type Row } from "../hermes/sessions/session.js";

/** A message as it travels: what every model understands, and nothing that only the one that wrote it does. */
export interface Said {
  role: "user" | "assistant" | "tool";
  /** A text, or parts: texts and pictures. */
  content: string | Part[];
  /** The tools an assistant called. */
  calls: ToolCall[];
  /** The call whose answer it is, and the tool that gave it. */
  answers?: { id: string; tool: string };
  /** Seconds since 1970. */
  at: number;
}

export type Part = Record<string, unknown>;

export interface ToolCall {
  id: string;
  name: string;
  /** JSON, as the model wrote it. */
  arguments: string;
}

const roles: readonly string[] = ["user", "assistant", "tool"];

/**
 * What was said, out of the rows of a session. System prompts are the agent's own and stay with it, as does what a model
 * thought, which another cannot read.
 */
export function transcriptFrom(rows: readonly Row[], began = 0): Said[] {
  let at = began;
  return rows
    .filter(({ role }) => roles.includes(String(role)))
    .map((row) => {
      at = typeof row.timestamp === "number" ? row.timestamp : at;
      const role = row.role as Said["role"];
      const calls = role === "assistant" && Array.isArray(row.tool_calls) ? row.tool_calls.flatMap(callFrom) : [];
      const answers = role === "tool" && { answers: { id: textOf(row.tool_call_id), tool: textOf(row.tool_name) } };
      return { role, content: contentFrom(row.content), calls, ...answers, at };
    });
}

function contentFrom(content: unknown): Said["content"] {
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

/**
 * Every call with its answer and every answer with its call, right behind it; without what lacks the other: a model that is
 * shown half of one refuses all of it. The tool's name is that of its call.
 */
export function paired(said: readonly Said[]): Said[] {
  const result: Said[] = [];
  for (let at = 0; at < said.length; ) {
    const message = said[at++] as Said;
    if (message.role === "tool") continue;
    const behind: Said[] = [];
    while (said[at]?.role === "tool") behind.push(said[at++] as Said);
    const calls = message.calls.filter(({ id }, index) => message.calls.findIndex((each) => each.id === id) === index);
    const answered = calls.flatMap((call) => {
      const answer = behind.find(({ answers }) => answers?.id === call.id);
      return answer ? [{ call, answer: { ...answer, answers: { id: call.id, tool: call.name } } }] : [];
    });
    if (answered.length === 0 && message.role === "assistant" && isEmpty(message.content)) continue;
    result.push({ ...message, calls: answered.map(({ call }) => call) });
    // In the order they came in.
    result.push(...answered.map(({ answer }) => answer).sort((a, b) => orderOf(behind, a) - orderOf(behind, b)));
  }
  return result;
}

const orderOf = (behind: readonly Said[], { answers }: Said): number =>
  behind.findIndex((each) => each.answers?.id === answers?.id);

export const isEmpty = (content: Said["content"]): boolean =>
  typeof content === "string" ? content.trim() === "" : content.length === 0;

/** What belongs together: what a user said, and everything up to what they said next. */
export function turnsOf(said: readonly Said[]): Said[][] {
  const turns: Said[][] = [];
  for (const message of said) {
    const last = turns.at(-1);
    if (message.role === "user" || !last) turns.push([message]);
    else last.push(message);
  }
  return turns;
}

/** What moves, as text that is the same wherever it is made. Members are in the order of their names. */
export const canonical = (said: readonly Said[]): string =>
  JSON.stringify(
    said.map(({ role, content, calls, answers }) => ({
      ...{ role, content, calls: calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })) },
      ...(answers && { answers: { id: answers.id, tool: answers.tool } }),
    })),
    (_, value) => (isRecord(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value),
  );

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

export const digestOf = (said: readonly Said[]): string => createHash("sha256").update(canonical(said)).digest("hex");

/** Whether what moved is there as it was, and first: people may have gone on since, and what they said is their own. */
export const hasArrived = (said: readonly Said[], { hash, messages }: { hash: string; messages: number }): boolean =>
  digestOf(said.slice(0, messages)) === hash;
