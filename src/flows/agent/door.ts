import { doorScript, doorTrouble } from "../../agents/proof/door.js";
import { seenFrom } from "../../agents/proof/seen.js";
import { loadType } from "../../agents/registry.js";
import { type Subject, subjectOf } from "../../agents/subject.js";
import { askHost } from "../../remote/ask-host.js";
import type { Connection } from "../../remote/connection.js";
import { rootShellOf } from "../../remote/one-shell.js";
import { VerifiedPort } from "../../remote/verified-port.js";
import type { Secret } from "../../secret.js";
import { type Agent, instanceOf } from "../../state/agents.js";
import { waitFor } from "../../wait.js";
import type { Session } from "../session.js";
import { apiKeyOf, mustHaveOneKey } from "./api-key.js";
import { mustBeInstalled } from "./gates.js";

/** The way to an agent's API: its port, and the key that may be sent on what is opened there. */
export interface Door {
  api: VerifiedPort;
  connection: Connection;
  subject: Subject;
  key: Secret;
}

export interface Opening {
  /** Who says stop waits for no host. */
  stop?: AbortSignal;
  /** Milliseconds a look at the port may take. */
  lookTimeout?: number;
}

/** Connects to the agent's host. Whose process has a connection to its port is looked at when there is one, before it is used. */
export async function openDoor(
  session: Session,
  agent: Agent,
  { stop = session.signal, lookTimeout = 30_000 }: Opening = {},
): Promise<Door> {
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
  const connection = await waitFor(connecting, { signal });
  const asking = { host: subject.host, what: `who holds the port of ${subject.name}`, timeout: lookTimeout, signal };
  const look = async () => {
    const seen = await askHost(await rootShellOf(connection), doorScript(subject), asking, seenFrom);
    const trouble = doorTrouble(subject, seen);
    if (trouble) throw trouble;
  };
  const api = new VerifiedPort(connection, subject.port, () => waitFor(look(), { signal }));
  return { api, connection, subject, key };
}
