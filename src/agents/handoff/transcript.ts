import { createHash } from "node:crypto";
import { isRecord } from "../../text/record.js";
import { tokensInBytes } from "../../text/tokens.js";
import type { Counts } from "./store.js";

export interface TranscriptMessage {
  role: "user" | "assistant" | "tool";
  content: string | Part[];
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

/** Each call followed by its answer, named by the call. A model refuses a conversation with unpaired ones. */
export function paired(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  const result: TranscriptMessage[] = [];
  for (let at = 0; at < messages.length; ) {
    const message = messages[at++] as TranscriptMessage;
    if (message.role === "tool") continue;
    const behind: TranscriptMessage[] = [];
    while (messages[at]?.role === "tool") behind.push(messages[at++] as TranscriptMessage);
    // Of several with one id the first counts.
    const first = new Map(message.calls.toReversed().map((call) => [call.id, call]));
    const answers = new Map(behind.toReversed().map((each) => [each.answers?.id, each]));
    const calls = message.calls.filter((call) => call === first.get(call.id) && answers.has(call.id));
    if (calls.length === 0 && message.role === "assistant" && isEmpty(message.content)) continue;
    // In the order of arrival.
    const answered = behind.flatMap((answer) => {
      const call = answer === answers.get(answer.answers?.id) && calls.find(({ id }) => id === answer.answers?.id);
      return call ? { ...answer, answers: { id: call.id, tool: call.name } } : [];
    });
    result.push({ ...message, calls }, ...answered);
  }
  return result;
}

export const isEmpty = (content: TranscriptMessage["content"]): boolean =>
  typeof content === "string" ? content.trim() === "" : content.length === 0;

export const countsOf = (messages: readonly TranscriptMessage[]): Counts => ({
  message_count: messages.length,
  tool_call_count: messages.reduce((sum, { calls }) => sum + calls.length, 0),
});

/** A turn is a message of the user and everything up to their next one. */
export function turnsOf(messages: readonly TranscriptMessage[]): TranscriptMessage[][] {
  const turns: TranscriptMessage[][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (message.role === "user" || !last) turns.push([message]);
    else last.push(message);
  }
  return turns;
}

/** The messages as a text that is the same wherever it is made: members are sorted by name. */
export const canonical = (messages: readonly TranscriptMessage[]): string =>
  JSON.stringify(
    messages.map(({ role, content, calls, answers }) => ({
      role,
      content,
      calls: calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })),
      ...(answers && { answers: { id: answers.id, tool: answers.tool } }),
    })),
    (_, value) => (isRecord(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value),
  );

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : a > b ? 1 : 0);

export const digestOf = (messages: readonly TranscriptMessage[]): string =>
  createHash("sha256").update(canonical(messages)).digest("hex");

/** Whether the session begins with exactly the moved messages; it may have continued since. */
export const hasArrived = (
  messages: readonly TranscriptMessage[],
  moved: { hash: string; messages: number },
): boolean => digestOf(messages.slice(0, moved.messages)) === moved.hash;

/** Tokens of a picture of any size: what a large one costs with most models. */
const picture = 765;

/** An estimate. */
export const tokensIn = (messages: readonly TranscriptMessage[]): number =>
  messages.reduce((sum, message) => sum + tokensOf(message), 0);

function tokensOf({ content, calls, answers }: TranscriptMessage): number {
  const texts =
    typeof content === "string" ? [content] : content.flatMap((part) => (isPicture(part) ? [] : textOf(part)));
  const called = calls.flatMap(({ id, name, arguments: given }) => [id, name, given]);
  const all = [...texts, ...called, ...(answers ? [answers.id] : [])];
  const bytes = all.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return tokensInBytes(bytes) + picture * picturesIn([{ content }]);
}

const textOf = (part: Part): string => (typeof part.text === "string" ? part.text : JSON.stringify(part));

export const picturesIn = (messages: readonly Pick<TranscriptMessage, "content">[]): number =>
  messages.reduce((sum, { content }) => sum + (typeof content === "string" ? 0 : content.filter(isPicture).length), 0);

const isPicture = ({ type }: Part): boolean => type === "image_url" || type === "input_image" || type === "image";
