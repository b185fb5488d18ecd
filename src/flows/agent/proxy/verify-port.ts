import { loadType } from "../../../agents/manifest/registry.js";
import { type AgentProxy, proxyOf } from "../../../agents/plan/proxy.js";
import { type ResolvedAgent, resolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { parseObservation } from "../../../agents/probe/proof/observation.js";
import { portOwnerScript } from "../../../agents/probe/proof/port-owner.js";
import { proxyTrouble } from "../../../agents/proxy/trouble.js";
import { waitFor } from "../../../async/wait.js";
import { Fault } from "../../../errors.js";
import { askHost } from "../../../remote/ask-host.js";
import type { Connection } from "../../../remote/connection.js";
import { rootShellOf } from "../../../remote/shared-shell.js";
import { VerifiedPort } from "../../../remote/verified-port.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { mustBeInstalled } from "../preconditions.js";
import type { VerifyOptions } from "../verify-port-owner.js";

/** The proxy takes no key: it serves every client that reaches its port. */
export interface ProxyEndpoint {
  api: VerifiedPort;
  connection: Connection;
  proxy: AgentProxy;
  resolved: ResolvedAgent;
}

/** Another process on the port could read the conversations, so the owner of each connection is verified. */
export async function verifyProxyPort(
  session: Session,
  agent: Agent,
  { stop = session.signal, probeTimeout = 30_000 }: VerifyOptions = {},
): Promise<ProxyEndpoint> {
  const signal = AbortSignal.any([session.signal, stop]);
  mustBeInstalled(agent);
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const resolved = resolvedAgent(manifest, agent);
  const proxy = proxyOf(resolved);
  if (!proxy) throw none(agent);
  const connection = await waitFor(session.pool.connect(agent.host), { signal });
  const what = `who holds the port of the proxy of ${resolved.name}`;
  const asking = { host: resolved.host, what, timeout: probeTimeout, signal };
  const script = portOwnerScript({ ...resolved, unit: proxy.unit, port: proxy.port });
  const look = async () => {
    const seen = await askHost(await rootShellOf(connection), script, asking, parseObservation);
    const trouble = proxyTrouble(resolved, proxy, seen);
    if (trouble) throw trouble;
  };
  const api = new VerifiedPort(connection, proxy.port, () => waitFor(look(), { signal }));
  return { api, connection, proxy, resolved };
}

const none = ({ name, ref }: Agent): Fault =>
  new Fault("not-ready", `${name} has no proxy`, { next: `clm agent proxy status ${ref}` });
