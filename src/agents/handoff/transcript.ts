import { createHash } from "node:crypto";
import { isRecord } from "../../text/record.js";
import type { Counts } from "./store.js";

/** A message as it travels: what every model understands, and nothing that only the one that wrote it does. */
export interface TranscriptMessage {
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

/**
 * Every call with its answer and every answer with its call, right behind it; without what lacks the other: a model that is
 * shown half of one refuses all of it. The tool's name is that of its call.
 */
export function paired(said: readonly TranscriptMessage[]): TranscriptMessage[] {
  const result: TranscriptMessage[] = [];
  for (let at = 0; at < said.length; ) {
    const message = said[at++] as TranscriptMessage;
    if (message.role === "tool") continue;
    const behind: TranscriptMessage[] = [];
    while (said[at]?.role === "tool") behind.push(said[at++] as TranscriptMessage);
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

const orderOf = (behind: readonly TranscriptMessage[], { answers }: TranscriptMessage): number =>
  behind.findIndex((each) => each.answers?.id === answers?.id);

export const isEmpty = (content: TranscriptMessage["content"]): boolean =>
  typeof content === "string" ? content.trim() === "" : content.length === 0;

export const countsOf = (messages: readonly TranscriptMessage[]): Counts => ({
  message_count: messages.length,
  tool_call_count: messages.reduce((sum, { calls }) => sum + calls.length, 0),
});

/** What belongs together: what a user said, and everything up to what they said next. */
export function turnsOf(said: readonly TranscriptMessage[]): TranscriptMessage[][] {
  const turns: TranscriptMessage[][] = [];
  for (const message of said) {
    const last = turns.at(-1);
    if (message.role === "user" || !last) turns.push([message]);
    else last.push(message);
  }
  return turns;
}

/** What moves, as text that is the same wherever it is made. Members are in the order of their names. */
export const canonical = (said: readonly TranscriptMessage[]): string =>
  JSON.stringify(
    said.map(({ role, content, calls, answers }) => ({
      ...{ role, content, calls: calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })) },
      ...(answers && { answers: { id: answers.id, tool: answers.tool } }),
    })),
    (_, value) => (isRecord(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value),
  );

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

export const digestOf = (said: readonly TranscriptMessage[]): string =>
  createHash("sha256").update(canonical(said)).digest("hex");

/** Whether what moved is there as it was, and first: people may have gone on since, and what they said is their own. */
export const hasArrived = (
  said: readonly TranscriptMessage[],
  { hash, messages }: { hash: string; messages: number },
): boolean => digestOf(said.slice(0, messages)) === hash;
