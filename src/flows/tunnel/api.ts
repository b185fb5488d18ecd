import type { Subject } from "../../agents/subject.js";
import { findAgent } from "../../state/agents.js";
import { openDoor } from "../agent/door.js";
import { targetOf } from "../agent/target.js";
import type { Session } from "../session.js";
import { type Happening, keptOpen } from "./kept-open.js";
import type { Way } from "./way.js";

export interface Options {
  /** The port here; without it the agent's own, or any that is free. */
  port?: number | undefined;
}

/** Tunnel: a port here that leads to an agent's API, as long as nobody says stop. */
export async function tunnelToApi(
  session: Session,
  word: string,
  { port }: Options,
  tell: (happening: Happening, subject: Subject) => void,
): Promise<void> {
  const { subject } = await targetOf(session, word);
  await keptOpen({
    wanted: { port, rather: subject.port, otherwise: `clm tunnel ${subject.word}` },
    find: () => wayToApi(session, word),
    tell: (happening) => tell(happening, subject),
    signal: session.signal,
  });
}

/** The agent is looked up anew: since the last time it may have got another port. */
async function wayToApi(session: Session, word: string): Promise<Way> {
  const agent = findAgent(session.hosts.read(), word);
  const { api, connection } = await openDoor(session, agent);
  // It is open when it leads somewhere: an sshd may forward nothing, and says so only when it is asked to.
  (await api.open()).destroy();
  return {
    connection,
    open: () => api.open(),
    ended: connection.closed.then(() => connection.lost()),
    close: async () => {},
  };
}
