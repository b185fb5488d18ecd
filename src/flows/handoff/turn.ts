import type { Agent } from "../../state/agents.js";
import { verifyPortOwner } from "../agent/verify-port-owner.js";
import { exchange } from "../chat/exchange.js";
import type { Session } from "../session.js";

export interface Turn {
  text: string;
  /** The session it went on in: another one, when the agent folded the conversation. */
  session: string;
}

/** One turn of a conversation, that clm asks for itself: `clm chat --last` goes on with what people said. */
export async function turnIn(session: Session, agent: Agent, id: string, text: string): Promise<Turn> {
  const door = await verifyPortOwner(session, agent);
  let now = id;
  const accepted = (told: string | undefined) => {
    now = told ?? id;
    return now;
  };
  const answer = await exchange(session, door, { session: id, text, signal: session.signal, onPiece() {}, accepted });
  return { text: answer.text, session: now };
}
