import { doorScript } from "../../../agents/proof/door.js";
import { seenFrom } from "../../../agents/proof/seen.js";
import { type AgentProxy, proxyOf } from "../../../agents/proxy/proxy.js";
import { proxyTrouble } from "../../../agents/proxy/trouble.js";
import { loadType } from "../../../agents/registry.js";
import { type Subject, subjectOf } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import { askHost } from "../../../remote/ask-host.js";
import type { Connection } from "../../../remote/connection.js";
import { rootShellOf } from "../../../remote/one-shell.js";
import { VerifiedPort } from "../../../remote/verified-port.js";
import type { Agent } from "../../../state/agents.js";
import { waitFor } from "../../../wait.js";
import type { Session } from "../../session.js";
import type { Opening } from "../door.js";
import { mustBeInstalled } from "../gates.js";

/** The way to an agent's proxy. There is no key: whoever reaches the port is served. */
export interface ProxyDoor {
  api: VerifiedPort;
  connection: Connection;
  proxy: AgentProxy;
  subject: Subject;
}

/**
 * Connects to the agent's host. Whoever else has the proxy's port would be told what people ask their models: whose process has
 * a connection to it is looked at when there is one, before it is used.
 */
export async function openProxyDoor(
  session: Session,
  agent: Agent,
  { stop = session.signal, lookTimeout = 30_000 }: Opening = {},
): Promise<ProxyDoor> {
  const signal = AbortSignal.any([session.signal, stop]);
  mustBeInstalled(agent);
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const subject = subjectOf(manifest, agent);
  const proxy = proxyOf(subject);
  if (!proxy) throw none(agent);
  const connection = await waitFor(session.pool.connect(agent.host), { signal });
  const what = `who holds the port of the proxy of ${subject.name}`;
  const asking = { host: subject.host, what, timeout: lookTimeout, signal };
  const script = doorScript({ ...subject, unit: proxy.unit, port: proxy.port });
  const look = async () => {
    const seen = await askHost(await rootShellOf(connection), script, asking, seenFrom);
    const trouble = proxyTrouble(subject, proxy, seen);
    if (trouble) throw trouble;
  };
  const api = new VerifiedPort(connection, proxy.port, () => waitFor(look(), { signal }));
  return { api, connection, proxy, subject };
}

const none = ({ name, word }: Agent): Fault =>
  new Fault("not-ready", `${name} has no proxy`, { next: `clm agent proxy ${word} status` });
