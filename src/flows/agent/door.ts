import { doorScript, doorTrouble } from "../../agents/proof/door.js";
import { seenFrom } from "../../agents/proof/seen.js";
import { loadType } from "../../agents/registry.js";
import { type Subject, subjectOf } from "../../agents/subject.js";
import { Fault } from "../../errors.js";
import type { Connection } from "../../remote/connection.js";
import { commandFor } from "../../remote/operations/conversation.js";
import { run } from "../../remote/run.js";
import type { Secret } from "../../secret.js";
import { type Agent, instanceOf } from "../../state/agents.js";
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

/**
 * Connects and looks, in one exec, whether the agent's own processes hold its port. Whoever else listens there would be
 * told the key by the first request, so a fault is thrown before anything is asked.
 */
export async function openDoor(session: Session, agent: Agent): Promise<Door> {
  mustBeInstalled(agent);
  // Reading a manifest takes about as long as the handshake: both at once.
  const connecting = session.pool.connect(agent.host);
  connecting.catch(() => {});
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const subject = subjectOf(manifest, agent);
  const place = { instance: instanceOf(agent), name: manifest.api.secret };
  mustHaveOneKey(session, place, agent.word);
  const { key } = apiKeyOf(session, place);
  const connection = await connecting;
  await mustBeItsOwn(session, connection, subject);
  return { connection, subject, key };
}

async function mustBeItsOwn({ signal }: Session, connection: Connection, subject: Subject): Promise<void> {
  const script = doorScript(subject);
  const { code, stdout, stderr } = await run(connection.as("root"), commandFor(script), {
    stdin: script,
    keepStdin: true,
    timeout: lookTimeout,
    signal,
  });
  const seen = seenFrom(stdout);
  if (!seen) {
    throw new Fault("remote-failed", `${subject.host} could not tell who holds the port of ${subject.name}`, {
      why: stderr.trim().split("\n").slice(-3).join(" ") || `its script ended with ${code}`,
      next: `clm host check ${subject.host}`,
    });
  }
  const trouble = doorTrouble(subject, seen);
  if (trouble) throw trouble;
}
