import type { Agent } from "../../state/agents.js";
import { verifyPortOwner } from "../agent/verify-port-owner.js";
import { exchange } from "../chat/exchange.js";
import type { Session } from "../session.js";

export interface Turn {
  text: string;
  /** Another session when the agent compressed the conversation. */
  session: string;
}

/** Does not change what `clm chat --last` continues. */
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
