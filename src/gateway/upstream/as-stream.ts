import { textOf } from "../../agents/chat/completion.js";
import { objectFrom } from "../../text/json-object.js";
import type { Refusal } from "../request/refusal.js";
import type { AnswerKind } from "./pass.js";
import type { RenameId } from "./response-ids.js";
import type { StreamTap } from "./tap.js";

interface ChatCompletion {
  choices?: { index?: unknown; message?: { content?: unknown }; finish_reason?: unknown }[];
  usage?: unknown;
}

interface Item {
  id?: unknown;
  type?: unknown;
  content?: unknown;
}

export function chatAsStream(body: Buffer): string {
  const { choices = [], usage, ...head } = objectFrom<ChatCompletion>(body.toString()) ?? {};
  const chunk = (parts: object[], more: object = {}) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: parts, ...more })}\n\n`;
  const each = (choice: (at: (typeof choices)[number]) => object) =>
    choices.map((found, index) => ({ index: found.index ?? index, finish_reason: null, ...choice(found) }));
  return [
    chunk(each(() => ({ delta: { role: "assistant", content: "" } }))),
    chunk(each(({ message }) => ({ delta: { content: textOf(message?.content) } }))),
    chunk(
      each(({ finish_reason }) => ({ delta: {}, finish_reason })),
      usage === undefined ? {} : { usage },
    ),
    "data: [DONE]\n\n",
  ].join("");
}

/** Has its events in the order that clients expect. */
export function responseAsStream(body: Buffer): string {
  const response = objectFrom<{ output?: unknown }>(body.toString()) ?? {};
  const output: Item[] = Array.isArray(response.output) ? response.output : [];
  const events: [type: string, data: object][] = [
    ["created", { response: { ...response, status: "in_progress", output: [], usage: null } }],
    ...output.flatMap(eventsOfItem),
    ["completed", { response }],
  ];
  return events.map(([type, data], at) => event(`response.${type}`, at, data)).join("");
}

const event = (type: string, sequence_number: number, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`;

function eventsOfItem(item: Item, output_index: number): [type: string, data: object][] {
  const parts = item.type === "message" && Array.isArray(item.content) ? (item.content as { text?: unknown }[]) : [];
  return [
    ["output_item.added", { output_index, item: { ...item, status: "in_progress", content: [] } }],
    ...parts.flatMap((part, content_index) => eventsOfPart(part, { item_id: item.id, output_index, content_index })),
    ["output_item.done", { output_index, item }],
  ];
}

function eventsOfPart(part: { text?: unknown }, place: object): [type: string, data: object][] {
  if (typeof part?.text !== "string") return [];
  return [
    ["content_part.added", { ...place, part: { ...part, text: "" } }],
    ["output_text.delta", { ...place, delta: part.text, logprobs: [] }],
    ["output_text.done", { ...place, text: part.text, logprobs: [] }],
    ["content_part.done", { ...place, part }],
  ];
}

/** The end of a stream whose call failed, as clients of its path expect it; never the end of an answer. */
export function failedStream(
  refusal: Refusal,
  from: AnswerKind,
  { lastResponse, sequence = 0 }: Partial<Pick<StreamTap, "lastResponse" | "sequence">> = {},
  rename: RenameId = (id) => id,
): string {
  if (from !== "responses") return `data: ${refusal.body()}\n\n`;
  const { code, message } = refusal;
  const { id } = lastResponse ?? {};
  const named = typeof id === "string" ? { id: rename(id) } : {};
  const response = { ...lastResponse, ...named, status: "failed", error: { code, message }, output: [] };
  return event("response.failed", Math.max(0, sequence), { response });
}
