import type { Said } from "../../handoff/transcript.js";
import type { Row } from "../sessions/session.js";
import { onStateDb, type Told } from "../state-db/program.js";
import program from "./program.py?raw";

/** What can be asked of an agent's state.db for a handoff. `id` is the session it is about. */
export type Request = { id: string } & (
  | { verb: "look" }
  | ({ verb: "seed"; session: Row; messages: Row[] } & Sweeping)
  /**
   * `planted` is the text of the note and `question` what was asked about it; with `wait` nothing is taken out before the answer
   * is there. `counts` are those of what moved.
   */
  | ({ verb: "settle"; planted: string; question: string; wait: boolean; counts: Counts } & Sweeping)
  | { verb: "forget" }
  /** `last` is the last message that was read: a session that went on since is left as it is. */
  | { verb: "close"; last: number | null; at: number }
);

/** Sessions that were taken away before, and are taken away again if something wrote them since. */
interface Sweeping {
  gone?: string[];
}

/** As a session's row has them. */
export interface Counts {
  message_count: number;
  tool_call_count: number;
}

/** What it answers. */
export interface Reply extends Told {
  /** Columns without which nothing can be written. */
  missing?: string[];
  title?: string | null;
  early?: boolean;
  messages?: Row[];
  /** The note was there until now. */
  planted?: boolean;
  /** Messages behind the proof: people went on already. */
  behind?: number;
  forgotten?: number;
  closed?: boolean;
  /** It had ended before, for another reason. */
  before?: boolean;
}

/** What to run on the host, and what to write to it. */
export const requesting = (request: Request, paths: { data: string; code: string }) =>
  onStateDb(program, request, paths, "its own");

/** A message as a row. Every version has these columns. */
export const rowOf = ({ role, content, calls, answers, at }: Said): Row => ({
  ...{ role, content, timestamp: at },
  tool_calls:
    calls.length === 0
      ? null
      : calls.map(({ id, name, arguments: given }) => ({ id, type: "function", function: { name, arguments: given } })),
  ...(answers && { tool_call_id: answers.id, tool_name: answers.tool }),
  ...(role === "assistant" && { finish_reason: calls.length > 0 ? "tool_calls" : "stop" }),
});

export const countsOf = (said: readonly Said[]): Counts => ({
  message_count: said.length,
  tool_call_count: said.reduce((sum, { calls }) => sum + calls.length, 0),
});

/** The session that is made of a transcript. What it cost was paid elsewhere; its system prompt the agent makes itself. */
export const sessionRow = (said: readonly Said[], title: string, model: string | undefined): Row => ({
  ...{ source: "api_server", title: title.replace(/\s+/g, " ").trim() || null, model: model ?? null },
  started_at: said[0]?.at ?? 0,
  ...countsOf(said),
});
