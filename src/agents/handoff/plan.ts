import type { BoundaryEffect } from "./boundary.js";
import { type Fit, roomIn, type Split, splitFor, summaryRoom, trimmed } from "./fit.js";
import { picturesIn, tokensIn } from "./size.js";
import type { TranscriptMessage } from "./transcript.js";

/** What would move, for people and programs. */
export interface HandoffPlan {
  from: { agent: string; session: string };
  to: { agent: string; model: string | null };
  title: string;
  messages: { user: number; assistant: number; tool: number; all: number };
  /** How often each was called. */
  tools: Record<string, number>;
  /** Estimated. */
  tokens: number;
  attachments: number;
  since: string | null;
  until: string | null;
  /** What the boundary takes away. */
  taken: BoundaryEffect;
  fit: {
    /** Tokens the window holds, and how many of them a transcript may take; null where nobody knows. */
    context: number | null;
    room: number | null;
    fits: boolean;
    /** What becomes of what does not fit. */
    by: "nothing" | Fit;
    /** Messages that are left out or summarised. */
    older: number;
  };
}

/** What moves, and what has to be summarised before it can. */
export interface FitResult {
  fit: HandoffPlan["fit"];
  /** Nothing when it is refused. */
  said?: TranscriptMessage[];
  summarise?: Split;
}

/** How a conversation gets into a window: whole if it can. A window that nobody knows holds everything. */
export function fitTo(said: TranscriptMessage[], context: number | undefined, wish: Fit): FitResult {
  if (context === undefined) {
    return { fit: { context: null, room: null, fits: true, by: "nothing", older: 0 }, said };
  }
  const room = roomIn(context);
  const about = { context, room };
  if (tokensIn(said) <= room) return { fit: { ...about, fits: true, by: "nothing", older: 0 }, said };
  const none: FitResult = { fit: { ...about, fits: false, by: wish, older: 0 } };
  if (wish === "refuse") return none;
  if (wish === "trim") {
    const result = trimmed(said, room);
    if (!result) return none;
    return { fit: { ...about, fits: false, by: wish, older: result.older.length }, said: result.said };
  }
  const split = splitFor(said, room - summaryRoom(room));
  if (!split) return none;
  return { fit: { ...about, fits: false, by: wish, older: split.older.length }, said: split.kept, summarise: split };
}

export function describe(
  said: readonly TranscriptMessage[],
): Pick<HandoffPlan, "messages" | "tools" | "tokens" | "attachments" | "since" | "until"> {
  const count = (role: TranscriptMessage["role"]) => said.filter((each) => each.role === role).length;
  const tools = new Map<string, number>();
  for (const { name } of said.flatMap(({ calls }) => calls)) tools.set(name, (tools.get(name) ?? 0) + 1);
  const times = said.map(({ at }) => at).filter((at) => at > 0);
  const timeOf = (at: number | undefined) => (at === undefined ? null : timeText(at));
  return {
    messages: { user: count("user"), assistant: count("assistant"), tool: count("tool"), all: said.length },
    ...{ tools: Object.fromEntries(tools), tokens: tokensIn(said), attachments: picturesIn(said) },
    ...{ since: timeOf(times[0]), until: timeOf(times.at(-1)) },
  };
}

function timeText(seconds: number): string | null {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
