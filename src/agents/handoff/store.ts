import type { HostProgram, ProgramAnswer, ProgramPaths } from "../sessions/host-program.js";
import type { Row } from "../sessions/sessions.js";
import type { TranscriptMessage } from "./transcript.js";

/** The capability: writing a conversation to an agent's sessions, and moving one to a channel of its own. */
export interface HandoffStore {
  /** A program that answers with a `ChangeReply`. */
  change(request: ChangeRequest, paths: ProgramPaths): HostProgram;
  /** A program that answers with lines of `ChannelReply`. */
  toChannel(request: ChannelRequest, paths: ProgramPaths): HostProgram;
  transcriptFrom(rows: readonly Row[], started?: number): TranscriptMessage[];
  rowOf(message: TranscriptMessage): Row;
  sessionRow(messages: readonly TranscriptMessage[], title: string, model: string | undefined): Row;
}

/** `id` is the session it is about. */
export type ChangeRequest = { id: string } & (
  | { verb: "check-columns" }
  | ({ verb: "insert-session"; session: Row; messages: Row[] } & SessionCleanup)
  /**
   * Removes the `note`, and the `question` about it with its answer; with `wait`, not before the answer exists.
   * `counts` are those of the messages that moved.
   */
  | ({ verb: "remove-proof"; note: string; question: string; wait: boolean; counts: Counts } & SessionCleanup)
  | { verb: "delete-session" }
  /** `last` is the last message that was read: a session that continued since stays open. */
  | { verb: "close-session"; last: number | null; at: number }
);

interface SessionCleanup {
  /** Sessions that were removed before, and are removed again if something wrote them since. */
  removed?: string[];
}

export interface Counts {
  message_count: number;
  tool_call_count: number;
}

export interface ChangeReply extends ProgramAnswer {
  /** Columns without which nothing can be written. */
  missing?: string[];
  title?: string | null;
  /** The agent has not stored its answer to the question yet. */
  unanswered?: boolean;
  messages?: Row[];
  /** The note still existed. */
  note_found?: boolean;
  /** Messages after the proof: the conversation continued already. */
  later?: number;
  /** The number of sessions. */
  deleted?: number;
  closed?: boolean;
  /** It had ended before, for another reason. */
  ended_before?: boolean;
}

export type ChannelRequest =
  /** Without a session, the one used last, except these ids and those that begin with one of them and a dash. */
  | { verb: "show-session"; session?: string; exclude: string[] }
  | { verb: "request-handoff"; session: string; platform: string; reset: boolean; wait: number };

/** A session, and the state of the last request to move it to a channel. */
export interface ChannelState {
  id: string;
  title: string | null;
  source: string | null;
  messages: number | null;
  state: string | null;
  platform: string | null;
  error: string | null;
}

/** How a request ended: as the agent said, or because clm stopped waiting. */
export type ChannelOutcome =
  | "completed"
  | "failed"
  /** The agent had not begun, and the request was withdrawn: by the timeout, or by the user. */
  | "timed-out"
  | "withdrawn"
  /** The agent has begun, so the request cannot be withdrawn: after the timeout, or by the user. */
  | "stuck"
  | "left-running"
  /** clm did not make the request, so it leaves it. */
  | "left-pending"
  /** The database was locked to the end; `state` is the last that was read. */
  | "database-locked"
  /** Another request has replaced it. */
  | "replaced";

export interface ChannelReply extends ProgramAnswer {
  session?: ChannelState;
  state?: string;
  /** The same request existed already. */
  joined?: boolean;
  outcome?: ChannelOutcome;
  error?: string | null;
  busy?: string;
  platform?: string | null;
}
