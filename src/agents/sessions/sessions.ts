import type { HostProgram, ProgramAnswer, ProgramPaths } from "./host-program.js";

/** A conversation as an agent keeps it. */
export interface ChatSession {
  id: string;
  /** Where it was held: `cli`, `api_server`, `telegram` and so on. */
  source: string | null;
  title: string | null;
  model: string | null;
  started: string | null;
  lastActive: string | null;
  ended: string | null;
  messages: number;
  tokens: { input: number; output: number };
  /** The session it continues. */
  parent: string | null;
  archived: boolean;
}

export interface SessionMessage {
  id: number | null;
  role: string;
  at: string | null;
  text: string;
  calls: { name: string; arguments: string }[];
  /** The tool whose answer it is. */
  tool: string | null;
}

/** A record as the agent stores it; columns differ from version to version. */
export type Row = Record<string, unknown>;

export interface SessionFilter {
  limit: number;
  source?: string | undefined;
  /** Seconds since 1970. */
  since?: number | undefined;
}

export type SessionQuery =
  | ({ verb: "list" } & SessionFilter)
  /** With `earlier` also the hidden part of a session: its parent, and messages that were undone or compacted. */
  | { verb: "read"; ids: string[]; all: boolean; earlier?: boolean | undefined }
  | ({ verb: "search"; text: string } & SessionFilter);

export interface SessionAnswer extends ProgramAnswer {
  session?: Row;
  messages?: Row[];
  earlier?: Row[];
  hit?: Row;
}

/** The capability: reading the conversations an agent has had. */
export interface SessionStore {
  /** A program that answers with lines of `SessionAnswer`. */
  query(query: SessionQuery, paths: ProgramPaths): HostProgram;
  sessionFrom(row: Row): ChatSession;
  messageFrom(row: Row): SessionMessage;
  messagesFrom(rows: readonly Row[]): SessionMessage[];
}
