import { StringDecoder } from "node:string_decoder";
import { bytesPerToken } from "../../text/tokens.js";
import { noted } from "./proof.js";
import { type TranscriptMessage, tokensIn, turnsOf } from "./transcript.js";

export const fits = ["refuse", "trim", "summarise"] as const;
export type Fit = (typeof fits)[number];

/** The part of the context window for a transcript; the agent's prompt, its tools and its answer need the rest. */
export const share = 0.75;
export const roomIn = (context: number): number => Math.floor(context * share);
/** The part of that for a summary. */
const summaryShare = 0.25;
export const summaryRoom = (room: number): number => Math.floor(room * summaryShare);

export interface Split {
  older: TranscriptMessage[];
  kept: TranscriptMessage[];
}

/** As many of the last whole turns as fit; undefined when not even the last one does. */
export function splitFor(messages: readonly TranscriptMessage[], room: number): Split | undefined {
  const turns = turnsOf(messages);
  let left = room;
  let from = turns.length;
  for (; from > 0; from--) {
    left -= tokensIn(turns[from - 1] ?? []);
    if (left < 0) break;
  }
  if (from === turns.length && turns.length > 0) return undefined;
  return { older: turns.slice(0, from).flat(), kept: turns.slice(from).flat() };
}

/** The last turns after a message that says how many are missing; undefined when not even the last one fits. */
export function trimmed(
  messages: readonly TranscriptMessage[],
  room: number,
): (Split & { messages: TranscriptMessage[] }) | undefined {
  if (tokensIn(messages) <= room) return { older: [], kept: [...messages], messages: [...messages] };
  // With a smaller number the message is not longer than this one.
  const split = splitFor(messages, room - tokensIn(noteAndAnswer(leftOut(messages.length), 0)));
  if (!split) return undefined;
  return { ...split, messages: [...noteAndAnswer(leftOut(split.older.length), split.kept[0]?.at ?? 0), ...split.kept] };
}

const earlier = (count: number): string => `${count} earlier ${count === 1 ? "message" : "messages"}`;

const leftOut = (count: number): string =>
  `[${earlier(count)} of this conversation ${count === 1 ? "was" : "were"} left out when it was handed over]`;

/** A note in place of what is missing, and its acknowledgement: an agent merges two user messages in a row into one. */
const noteAndAnswer = (content: string, at: number): TranscriptMessage[] => [
  { role: "user", content, calls: [], at },
  { role: "assistant", content: noted, calls: [], at },
];

export function summarised({ older, kept }: Split, summary: string, room: number): TranscriptMessage[] {
  const head = `[summary of ${earlier(older.length)}, made when this conversation was handed over]\n`;
  const most = Math.max(
    0,
    (summaryRoom(room) - tokensIn(noteAndAnswer("", 0))) * bytesPerToken - Buffer.byteLength(head),
  );
  const text = summary.trim();
  const cut = cutTo(text, most) === text ? text : `${cutTo(text, Math.max(0, most - Buffer.byteLength("…")))}…`;
  return [...noteAndAnswer(head + cut, kept[0]?.at ?? 0), ...kept];
}

/** The messages as text for a model to summarise, in pieces of at most so many bytes. */
export function piecesOf(messages: readonly TranscriptMessage[], longest: number): string[] {
  const pieces: string[] = [];
  let size = longest;
  for (const line of messages.map(lineOf)) {
    for (let rest = line; rest !== ""; ) {
      const part = cutTo(rest, longest);
      rest = rest.slice(part.length);
      const more = Buffer.byteLength(part);
      const fitsIn = size + 1 + more <= longest;
      if (fitsIn) pieces[pieces.length - 1] += `\n${part}`;
      else pieces.push(part);
      size = fitsIn ? size + 1 + more : more;
    }
  }
  return pieces;
}

/** The beginning of a text in whole characters, at most so many bytes. */
export function cutTo(text: string, longest: number): string {
  // A character is at least a byte.
  const head = text.slice(0, longest);
  const bytes = Buffer.from(head);
  if (head === text && bytes.length <= longest) return text;
  // It keeps half a character at the end for itself.
  return new StringDecoder("utf8").write(bytes.subarray(0, longest));
}

function lineOf({ role, content, calls, answers }: TranscriptMessage): string {
  const text = typeof content === "string" ? content : content.map((part) => part.text ?? `[${part.type}]`).join("\n");
  const called = calls.map(({ name, arguments: given }) => `[called ${name} with ${given}]`);
  return `${answers ? `${answers.tool} answered` : role}: ${[...(text ? [text] : []), ...called].join("\n")}`;
}
