import { type Said, transcriptFrom } from "../../agents/handoff/transcript.js";
import type { Row, Session as Talk } from "../../agents/hermes/sessions/session.js";
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
  /** What is not in it any more, and may be quoted in it: what was said before it was folded. Only where that was asked for. */
  earlier: Said[];
  /** The last message that was read. */
  last: number | null;
}

/**
 * Reads a session with all that was said in it, and changes nothing. From state.db at every version: there is one way for all,
 * and it is there also when the agent is down.
 */
export async function readSource(
  session: Session,
  agent: Agent,
  { id, earlier }: { id: string | undefined; earlier: boolean },
): Promise<Source> {
  const word = `${agent.host.name}/${agent.name}`;
  const ids = [id ?? (await lastUsed(session, agent, word))];
  for await (const { talk, row, earlier: before = [] } of tellSessions(session, word, { ids, all: false, earlier })) {
    if (id === undefined) session.ui.note(`the session of ${agent.name} that was used last: ${talk.id}`);
    const rows = row.messages as Row[];
    const began = talk.started === null ? 0 : Date.parse(talk.started) / 1000;
    const numbers = rows.flatMap((each) => (typeof each.id === "number" ? each.id : []));
    const said = transcriptFrom(rows, began);
    return { agent, talk, said, earlier: transcriptFrom(before), last: numbers.at(-1) ?? null };
  }
  throw new Error("a session that is there was not told");
}

/** The sessions that a handoff left half made, or that were written of one when it had been taken away; also what begins so. */
export function halfMade({ configDir }: Pick<Session, "configDir">, { host, name }: Agent): string[] {
  const handoffs = openHandoffs(configDir);
  return [...handoffs.all().map(({ id }) => id), ...handoffs.removed({ host: host.name, agent: name })];
}

async function lastUsed(session: Session, agent: Agent, word: string): Promise<string> {
  const half = halfMade(session, agent);
  const isHalf = (id: string) => half.some((each) => id === each || id.startsWith(`${each}-`));
  const sessions = await listSessions(session, word, { limit: 50 + half.length });
  const found = sessions.find(({ id, messages }) => messages > 0 && !isHalf(id));
  if (found) return found.id;
  throw new Fault("not-found", `${agent.name} has had no conversation yet`, { next: `clm chat ${agent.ref}` });
}
