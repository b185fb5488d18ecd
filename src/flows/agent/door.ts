import { doorScript, doorTrouble } from "../../agents/proof/door.js";
import { seenFrom } from "../../agents/proof/seen.js";
import { loadType } from "../../agents/registry.js";
import { type Subject, subjectOf } from "../../agents/subject.js";
import { askHost } from "../../remote/ask-host.js";
import type { Connection } from "../../remote/connection.js";
import type { Secret } from "../../secret.js";
import { type Agent, instanceOf } from "../../state/agents.js";
import { unlessStopped } from "../../unless-stopped.js";
import type { Session } from "../session.js";
import { apiKeyOf, mustHaveOneKey } from "./api-key.js";
import { mustBeInstalled } from "./gates.js";

/** The way to an agent's API: a live connection to its host, and the key that may be sent to its port. */
export interface Door {
  connection: Connection;
  subject: Subject;
  key: Secret;
}

const lookTimeout = 30_000;

// An agent that ends lets go of its port, and somebody else may take it: so many milliseconds a look is good for.
const lookHolds = 5000;

/** Whether what was seen then still holds. A clock may be set back. */
export const isFresh = (at: number): boolean => Math.abs(Date.now() - at) < lookHolds;

/**
 * Connects and looks, in one exec, whether the agent's own processes hold its port. Whoever else listens there would be
 * told the key by the first request, so a fault is thrown before anything is asked. Who says stop waits for no host.
 */
export async function openDoor(session: Session, agent: Agent, stop = session.signal): Promise<Door> {
  const signal = AbortSignal.any([session.signal, stop]);
  mustBeInstalled(agent);
  // Reading a manifest takes about as long as the handshake: both at once.
  const connecting = session.pool.connect(agent.host);
  connecting.catch(() => {});
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const subject = subjectOf(manifest, agent);
  const place = { instance: instanceOf(agent), name: manifest.api.secret };
  mustHaveOneKey(session, place, agent.word);
  const { key } = apiKeyOf(session, place);
  const connection = await unlessStopped(connecting, signal);
  await unlessStopped(mustBeItsOwn(signal, connection, subject), signal);
  return { connection, subject, key };
}

async function mustBeItsOwn(signal: AbortSignal, connection: Connection, subject: Subject): Promise<void> {
  const asking = {
    ...{ host: subject.host, what: `who holds the port of ${subject.name}` },
    ...{ timeout: lookTimeout, signal },
  };
  const seen = await askHost(connection.as("root"), doorScript(subject), asking, seenFrom);
  const trouble = doorTrouble(subject, seen);
  if (trouble) throw trouble;
}
