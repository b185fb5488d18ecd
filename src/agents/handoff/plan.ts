import type { BoundaryEffect } from "./boundary.js";
import { type Fit, roomIn, type Split, splitFor, summaryRoom, trimmed } from "./fit.js";
import { picturesIn, type TranscriptMessage, tokensIn } from "./transcript.js";

export interface HandoffPlan extends ReturnType<typeof describe> {
  from: { agent: string; session: string };
  to: { agent: string; model: string | null };
  title: string;
  taken: BoundaryEffect;
  fit: {
    /** Tokens of the context window, and of the part for a transcript; null when unknown. */
    context: number | null;
    room: number | null;
    fits: boolean;
    by: "nothing" | Fit;
    /** Messages that are left out or summarised. */
    older: number;
  };
}

export interface FitResult {
  fit: HandoffPlan["fit"];
  /** Absent when it is refused. */
  messages?: TranscriptMessage[];
  summarise?: Split;
}

/** Fits a conversation into a context window: whole if possible. An unknown window holds everything. */
export function fitTo(messages: TranscriptMessage[], context: number | undefined, wish: Fit): FitResult {
  const room = context === undefined ? null : roomIn(context);
  const whole = { context: context ?? null, room, fits: true, by: "nothing", older: 0 } as const;
  if (room === null || tokensIn(messages) <= room) return { fit: whole, messages };
  const fit = { ...whole, fits: false, by: wish };
  if (wish === "trim") {
    const result = trimmed(messages, room);
    return result ? { fit: { ...fit, older: result.older.length }, messages: result.messages } : { fit };
  }
  const split = wish === "summarise" ? splitFor(messages, room - summaryRoom(room)) : undefined;
  return split ? { fit: { ...fit, older: split.older.length }, messages: split.kept, summarise: split } : { fit };
}

export function describe(messages: readonly TranscriptMessage[]) {
  const count = (role: TranscriptMessage["role"]) => messages.filter((each) => each.role === role).length;
  /** Number of calls by tool. */
  const tools = new Map<string, number>();
  for (const { name } of messages.flatMap(({ calls }) => calls)) tools.set(name, (tools.get(name) ?? 0) + 1);
  const times = messages.map(({ at }) => at).filter((at) => at > 0);
  return {
    messages: { user: count("user"), assistant: count("assistant"), tool: count("tool"), all: messages.length },
    tools: Object.fromEntries(tools),
    /** An estimate. */
    tokens: tokensIn(messages),
    attachments: picturesIn(messages),
    since: timeText(times[0]),
    until: timeText(times.at(-1)),
  };
}

function timeText(seconds = Number.NaN): string | null {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
