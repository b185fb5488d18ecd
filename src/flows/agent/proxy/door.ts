import { doorScript } from "../../../agents/proof/door.js";
import { seenFrom } from "../../../agents/proof/seen.js";
import { type AgentProxy, proxyOf } from "../../../agents/proxy/proxy.js";
import { proxyTrouble } from "../../../agents/proxy/trouble.js";
import { loadType } from "../../../agents/registry.js";
import { type Subject, subjectOf } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import { askHost } from "../../../remote/ask-host.js";
import type { Connection } from "../../../remote/connection.js";
import type { Agent } from "../../../state/agents.js";
import { unlessStopped } from "../../../unless-stopped.js";
import type { Session } from "../../session.js";
import { mustBeInstalled } from "../gates.js";

/** The way to an agent's proxy. There is no key: whoever reaches the port is served. */
export interface ProxyDoor {
  connection: Connection;
  port: number;
  proxy: AgentProxy;
  subject: Subject;
}

const lookTimeout = 30_000;

/**
 * Connects and looks, in one exec, whether the proxy's own processes hold its port: whoever else listens there would be told
 * what people ask their models. A fault is thrown before anything is sent. Who says stop waits for no host.
 */
export async function openProxyDoor(session: Session, agent: Agent, stop = session.signal): Promise<ProxyDoor> {
  const signal = AbortSignal.any([session.signal, stop]);
  mustBeInstalled(agent);
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const subject = subjectOf(manifest, agent);
  const proxy = proxyOf(subject);
  if (!proxy) throw none(agent);
  const connection = await unlessStopped(session.pool.connect(agent.host), signal);
  await unlessStopped(mustBeItsOwn(signal, connection, subject, proxy), signal);
  return { connection, port: proxy.port, proxy, subject };
}

async function mustBeItsOwn(
  signal: AbortSignal,
  connection: Connection,
  subject: Subject,
  proxy: AgentProxy,
): Promise<void> {
  const asking = {
    ...{ host: subject.host, what: `who holds the port of the proxy of ${subject.name}` },
    ...{ timeout: lookTimeout, signal },
  };
  const script = doorScript({ ...subject, unit: proxy.unit, port: proxy.port });
  const trouble = proxyTrouble(subject, proxy, await askHost(connection.as("root"), script, asking, seenFrom));
  if (trouble) throw trouble;
}

const none = ({ name, word }: Agent): Fault =>
  new Fault("not-ready", `${name} has no proxy`, { next: `clm agent proxy ${word} status` });
