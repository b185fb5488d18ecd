import type { TranscriptMessage } from "../../agents/handoff/transcript.js";
import type { ChatSession, Row } from "../../agents/sessions/sessions.js";
import { capability } from "../../agents/type.js";
import { Fault } from "../../errors.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { openHandoffs } from "../../state/handoffs.js";
import { listSessions, readTranscripts } from "../agent/sessions/sessions.js";
import { targetOf } from "../agent/target.js";
import type { Session } from "../session.js";

export interface SourceConversation {
  agent: Agent;
  chat: ChatSession;
  messages: TranscriptMessage[];
  /** Messages that were compacted, and may be quoted by later ones. Only when asked for. */
  earlier: TranscriptMessage[];
  last: number | null;
}

/** From the agent's database, which works also while the agent is down. */
export async function readSource(
  session: Session,
  agent: Agent,
  { id, earlier }: { id: string | undefined; earlier: boolean },
): Promise<SourceConversation> {
  const ref = hostAndName(agent);
  const { transcriptFrom } = await capability((await targetOf(session, ref)).resolved.manifest, "handoff");
  const ids = [id ?? (await lastUsed(session, agent, ref))];
  for await (const { chat, row, earlier: before } of readTranscripts(session, ref, { ids, all: false, earlier })) {
    if (id === undefined) session.ui.note(`the session of ${agent.name} that was used last: ${chat.id}`);
    const rows = row.messages as Row[];
    const started = chat.started === null ? 0 : Date.parse(chat.started) / 1000;
    const numbers = rows.flatMap((each) => (typeof each.id === "number" ? each.id : []));
    const messages = transcriptFrom(rows, started);
    return { agent, chat, messages, earlier: transcriptFrom(before), last: numbers.at(-1) ?? null };
  }
  throw new Error("a session that exists was not read");
}

/** Sessions of unfinished handoffs, or written by one after it was removed; also prefixes of such ids. */
export function unfinishedSessions({ configDir }: Pick<Session, "configDir">, { host, name }: Agent): string[] {
  const handoffs = openHandoffs(configDir);
  return [...handoffs.all().map(({ id }) => id), ...handoffs.removed({ host: host.name, agent: name })];
}

async function lastUsed(session: Session, agent: Agent, ref: string): Promise<string> {
  const unfinished = unfinishedSessions(session, agent);
  const isUnfinished = (id: string) => unfinished.some((each) => id === each || id.startsWith(`${each}-`));
  const sessions = await listSessions(session, ref, { limit: 50 + unfinished.length });
  const found = sessions.find(({ id, messages }) => messages > 0 && !isUnfinished(id));
  if (found) return found.id;
  throw new Fault("not-found", `${agent.name} has had no conversation yet`, { next: `clm chat ${agent.ref}` });
}
