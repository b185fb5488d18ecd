import type {
  ChatSession,
  Row,
  SessionAnswer,
  SessionFilter,
  SessionMessage,
  SessionQuery,
  SessionStore,
} from "../../../agents/sessions/sessions.js";
import { capability } from "../../../agents/type.js";
import { Fault } from "../../../errors.js";
import type { Agent } from "../../../state/agents.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { runHostProgram, unknownSession } from "../run-host-program.js";
import { type AgentTarget, targetOf } from "../target.js";

interface SessionTarget extends AgentTarget {
  store: SessionStore;
}

async function sessionTarget(session: Session, ref: string): Promise<SessionTarget> {
  const target = await targetOf(session, ref);
  return { ...target, store: await capability(target.resolved.manifest, "sessions") };
}

// A long history over a slow line.
const seconds = 600;

async function* query(session: Session, target: SessionTarget, what: SessionQuery): AsyncGenerator<SessionAnswer> {
  // Messages may contain any secret.
  hideSecrets(session);
  const { agent, resolved, store } = target;
  const options = { verb: "read", seconds, signal: session.signal };
  const program = store.query(what, resolved.paths);
  for await (const answer of runHostProgram<SessionAnswer>(session, target, program, options)) {
    if (answer.fault !== undefined) throw unreadable(agent, answer.fault, answer.why ?? "");
    if (!answer.absent) yield answer;
  }
}

/** The most recently used first. */
export async function listSessions(session: Session, ref: string, filter: SessionFilter): Promise<ChatSession[]> {
  const target = await sessionTarget(session, ref);
  const found: ChatSession[] = [];
  for await (const { session: row } of query(session, target, { verb: "list", ...filter })) {
    if (row) found.push(target.store.sessionFrom(row));
  }
  return found;
}

export interface Transcript {
  agent: Agent;
  chat: ChatSession;
  messages: SessionMessage[];
  /** Every column, as the agent itself exports it. */
  row: Row;
  /** Messages that it no longer shows, when asked for. */
  earlier: Row[];
}

/** Sessions whose ids begin with the prefix, or all. */
export async function* readTranscripts(
  session: Session,
  ref: string,
  which: { ids: string[]; all: boolean; earlier?: boolean },
): AsyncGenerator<Transcript> {
  const target = await sessionTarget(session, ref);
  const { agent, store } = target;
  let none = true;
  const answers = query(session, target, { verb: "read", ...which });
  for await (const { session: row, messages = [], earlier = [] } of answers) {
    if (!row) continue;
    none = false;
    const { last_active: _, ...columns } = row;
    yield {
      agent,
      chat: store.sessionFrom(row),
      messages: store.messagesFrom(messages),
      row: { ...columns, messages },
      earlier,
    };
  }
  // Without a database the host does not report an unknown id.
  if (none && !which.all) throw unknownSession(agent, which.ids[0] ?? "", []);
}

export interface SearchHit {
  session: string;
  source: string | null;
  title: string | null;
  message: SessionMessage;
}

/** Messages that contain all words, the latest first. */
export async function searchSessions(
  session: Session,
  ref: string,
  text: string,
  filter: SessionFilter,
): Promise<SearchHit[]> {
  const target = await sessionTarget(session, ref);
  const { store } = target;
  const hits: SearchHit[] = [];
  for await (const { hit } of query(session, target, { verb: "search", text, ...filter })) {
    if (!hit) continue;
    const { id, source, title } = store.sessionFrom({ ...hit, id: hit.session_id });
    hits.push({ session: id, source, title, message: store.messageFrom(hit) });
  }
  return hits;
}

function unreadable({ name, host, ref }: Agent, fault: string, why: string): Fault {
  if (fault === "busy") {
    return new Fault("conflict", `the sessions of ${name} changed while they were read`, {
      why,
      next: "the same command again",
    });
  }
  const isShmMissing = fault === "missing-shm";
  return new Fault("remote-failed", `the sessions of ${name} cannot be read on ${host.name}`, {
    why: [why, ...(isShmMissing ? ["the agent creates it again when it starts"] : [])],
    next: isShmMissing ? `clm agent start ${ref}` : `clm agent doctor ${ref}`,
  });
}
