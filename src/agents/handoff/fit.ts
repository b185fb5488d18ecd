import { tokensIn } from "./size.js";
import { type Said, turnsOf } from "./transcript.js";

export const fits = ["refuse", "trim", "summarise"] as const;
export type Fit = (typeof fits)[number];

/** The part of a model's window that a transcript may take: the agent's own prompt, its tools and its answer need the rest. */
export const share = 0.75;

export const roomIn = (context: number): number => Math.floor(context * share);

/** The part of the room that a summary may take. */
const summaryShare = 0.25;
export const summaryRoom = (room: number): number => Math.floor(room * summaryShare);

/** A conversation in two: what stays behind, or is summarised, and what travels as it is. */
export interface Split {
  older: Said[];
  kept: Said[];
}

/** As many of the last turns as fit, whole ones; nothing when not even the last one does. */
export function splitFor(said: readonly Said[], room: number): Split | undefined {
  const turns = turnsOf(said);
  let left = room;
  let from = turns.length;
  for (; from > 0; from--) {
    left -= tokensIn(turns[from - 1] ?? []);
    if (left < 0) break;
  }
  if (from === turns.length && turns.length > 0) return undefined;
  return { older: turns.slice(0, from).flat(), kept: turns.slice(from).flat() };
}

/** The last turns, behind a message that says how much is missing; nothing when not even the last one fits. */
export function trimmed(said: readonly Said[], room: number): (Split & { said: Said[] }) | undefined {
  if (tokensIn(said) <= room) return { older: [], kept: [...said], said: [...said] };
  // A number more makes the message no longer than this one.
  const split = splitFor(said, room - tokensIn([leftOut(said.length, 0)]));
  if (!split) return undefined;
  return { ...split, said: [leftOut(split.older.length, split.kept[0]?.at ?? 0), ...split.kept] };
}

const leftOut = (count: number, at: number): Said => ({
  ...{ role: "user", calls: [], at },
  content: `[${count} earlier ${count === 1 ? "message" : "messages"} of this conversation ${count === 1 ? "was" : "were"} left out when it was handed over]`,
});

/** The last turns, behind a summary of the others. */
export function summarised({ older, kept }: Split, summary: string, room: number): Said[] {
  const head = `[summary of ${older.length} earlier ${older.length === 1 ? "message" : "messages"}, made when this conversation was handed over]\n`;
  const most = Math.max(0, summaryRoom(room) * 4 - head.length);
  const text = summary.trim();
  const cut = text.length > most ? `${text.slice(0, Math.max(0, most - 1)).replace(/[\ud800-\udbff]$/, "")}…` : text;
  return [{ role: "user", content: head + cut, calls: [], at: kept[0]?.at ?? 0 }, ...kept];
}

/** Messages as text to read, in pieces none of which is longer than this: for who is asked to summarise them. */
export function piecesOf(said: readonly Said[], longest: number): string[] {
  const pieces: string[] = [];
  for (const line of said.map(lineOf)) {
    for (let rest = line; rest !== ""; rest = rest.slice(longest)) {
      const part = rest.slice(0, longest);
      const last = pieces.at(-1);
      if (last !== undefined && last.length + 1 + part.length <= longest)
        pieces[pieces.length - 1] = `${last}\n${part}`;
      else pieces.push(part);
    }
  }
  return pieces;
}

function lineOf({ role, content, calls, answers }: Said): string {
  const text = typeof content === "string" ? content : content.map((part) => part.text ?? `[${part.type}]`).join("\n");
  const called = calls.map(({ name, arguments: given }) => `[called ${name} with ${given}]`);
  return `${answers ? `${answers.tool} answered` : role}: ${[...(text ? [text] : []), ...called].join("\n")}`;
}
