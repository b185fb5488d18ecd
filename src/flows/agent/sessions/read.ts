import {
  type Message,
  messageFrom,
  messagesFrom,
  type Row,
  sessionFrom,
  type Session as Talk,
} from "../../../agents/hermes/sessions/session.js";
import type { Narrowing } from "../../../agents/hermes/sessions/sessions.js";
import { type Agent, findAgent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { unknownSession } from "../run-host-program.js";
import { askSessions } from "./ask.js";

export type { Message, Talk };

export interface Choosing extends Narrowing {
  limit: number;
}

/** The sessions of an agent, the one that was used last first. */
export async function listSessions(session: Session, word: string, choosing: Choosing): Promise<Talk[]> {
  const found: Talk[] = [];
  for await (const { session: row } of askSessions(session, word, { verb: "list", ...choosing })) {
    if (row) found.push(sessionFrom(row));
  }
  return found;
}

/** A session with all that was said in it. */
export interface Told {
  agent: Agent;
  talk: Talk;
  messages: Message[];
  /** Every column, as the agent itself exports it. */
  row: Row;
  /** What it no longer shows, when that was asked for. */
  earlier?: Row[];
}

/** Whole sessions, one after the other: those that are named by their ids or how these begin, or all. */
export async function* tellSessions(
  session: Session,
  word: string,
  which: { ids: string[]; all: boolean; earlier?: boolean },
): AsyncGenerator<Told> {
  const agent = findAgent(session.hosts.read(), word);
  let none = true;
  const question = { verb: "whole" as const, ...which };
  for await (const { session: row, messages = [], earlier = [] } of askSessions(session, word, question)) {
    if (!row) continue;
    none = false;
    const { last_active: _, ...columns } = row;
    const told = { agent, talk: sessionFrom(row), messages: messagesFrom(messages), earlier };
    yield { ...told, row: { ...columns, messages } };
  }
  // With no database there is nobody to say that it is not in it.
  if (none && !which.all) throw unknownSession(agent, which.ids[0] ?? "", []);
}

/** A message that was searched for. */
export interface Hit {
  session: string;
  source: string | null;
  title: string | null;
  message: Message;
}

/** What was said with all of these words in it, the latest first. */
export async function searchSessions(session: Session, word: string, text: string, choosing: Choosing): Promise<Hit[]> {
  const hits: Hit[] = [];
  for await (const { hit } of askSessions(session, word, { verb: "search", text, ...choosing })) {
    if (!hit) continue;
    const { id, source, title } = sessionFrom({ ...hit, id: hit.session_id });
    hits.push({ session: id, source, title, message: messageFrom(hit) });
  }
  return hits;
}
