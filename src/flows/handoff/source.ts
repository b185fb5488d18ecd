import { type Said, transcriptFrom } from "../../agents/handoff/transcript.js";
import type { Row, Session as Talk } from "../../agents/sessions/session.js";
import { Fault } from "../../errors.js";
import type { Agent } from "../../state/agents.js";
import { openHandoffs } from "../../state/handoffs.js";
import { listSessions, tellSessions } from "../agent/sessions/read.js";
import type { Session } from "../session.js";

/** The conversation that is handed over. */
export interface Source {
  agent: Agent;
  talk: Talk;
  said: Said[];
  /** The last message that was read. */
  last: number | null;
}

/**
 * Reads a session with all that was said in it, and changes nothing. From state.db at every version: there is one way for all,
 * and it is there also when the agent is down.
 */
export async function readSource(session: Session, agent: Agent, id: string | undefined): Promise<Source> {
  const word = `${agent.host.name}/${agent.name}`;
  const ids = [id ?? (await lastUsed(session, agent, word))];
  for await (const { talk, row } of tellSessions(session, word, { ids, all: false })) {
    if (id === undefined) session.ui.note(`the session of ${agent.name} that was used last: ${talk.id}`);
    const rows = row.messages as Row[];
    const began = talk.started === null ? 0 : Date.parse(talk.started) / 1000;
    const numbers = rows.flatMap((each) => (typeof each.id === "number" ? each.id : []));
    return { agent, talk, said: transcriptFrom(rows, began), last: numbers.at(-1) ?? null };
  }
  throw new Error("a session that is there was not told");
}

/** Never what a handoff left half made. */
async function lastUsed(session: Session, agent: Agent, word: string): Promise<string> {
  const open = openHandoffs(session.configDir)
    .all()
    .map(({ id }) => id);
  const isHalf = (id: string) => open.some((each) => id === each || id.startsWith(`${each}-`));
  const sessions = await listSessions(session, word, { limit: 50 + open.length });
  const found = sessions.find(({ id, messages }) => messages > 0 && !isHalf(id));
  if (found) return found.id;
  throw new Fault("not-found", `${agent.name} has had no conversation yet`, { next: `clm chat ${agent.word}` });
}
