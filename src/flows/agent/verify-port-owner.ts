import { loadType } from "../../agents/manifest/registry.js";
import { type ResolvedAgent, resolvedAgent } from "../../agents/plan/resolved-agent.js";
import { parseObservation } from "../../agents/probe/proof/observation.js";
import { portOwnerFault, portOwnerScript } from "../../agents/probe/proof/port-owner.js";
import { waitFor } from "../../async/wait.js";
import { askHost } from "../../remote/ask-host.js";
import type { Connection } from "../../remote/connection.js";
import { rootShellOf } from "../../remote/shared-shell.js";
import { VerifiedPort } from "../../remote/verified-port.js";
import type { Secret } from "../../secret.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";
import { apiKeyOf, mustHaveKey, mustHaveOneKey } from "./api-key.js";
import { mustBeInstalled } from "./preconditions.js";

export interface VerifiedApi {
  api: VerifiedPort;
  connection: Connection;
  resolved: ResolvedAgent;
  key: Secret;
}

export interface VerifyOptions {
  stop?: AbortSignal;
  /** Milliseconds for the check of the port's owner. */
  probeTimeout?: number;
}

/** The owner of the port is checked for each connection, before anything is sent on it. */
export async function verifyPortOwner(
  session: Session,
  agent: Agent,
  { stop = session.signal, probeTimeout = 30_000 }: VerifyOptions = {},
): Promise<VerifiedApi> {
  const signal = AbortSignal.any([session.signal, stop]);
  mustBeInstalled(agent);
  // Reading a manifest takes about as long as the handshake: do both at once.
  const connecting = session.pool.connect(agent.host);
  connecting.catch(() => {});
  const { manifest } = await loadType(session.configDir, agent.record.type);
  const resolved = resolvedAgent(manifest, agent);
  const keyRef = mustHaveKey(agent, manifest);
  mustHaveOneKey(session, keyRef, agent.ref);
  const { key } = apiKeyOf(session, keyRef);
  const connection = await waitFor(connecting, { signal });
  const asking = { host: resolved.host, what: `who holds the port of ${resolved.name}`, timeout: probeTimeout, signal };
  const probe = async () => {
    const observation = await askHost(
      await rootShellOf(connection),
      portOwnerScript(resolved),
      asking,
      parseObservation,
    );
    const fault = portOwnerFault(resolved, observation);
    if (fault) throw fault;
  };
  const api = new VerifiedPort(connection, resolved.port, () => waitFor(probe(), { signal }));
  return { api, connection, resolved, key };
}
