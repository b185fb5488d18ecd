import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { type Observation, parseObservation } from "../../agents/probe/proof/observation.js";
import { portOwnerFault, portOwnerScript } from "../../agents/probe/proof/port-owner.js";
import { waitFor } from "../../async/wait.js";
import type { Fault } from "../../errors.js";
import { askHost } from "../../remote/ask-host.js";
import type { Connection } from "../../remote/connection.js";
import { rootShellOf } from "../../remote/shared-shell.js";
import { VerifiedPort } from "../../remote/verified-port.js";
import type { Secret } from "../../secret.js";
import type { Agent } from "../../state/agents.js";
import type { Session } from "../session.js";
import { apiKeyOf, mustHaveKey, mustHaveOneKey } from "./api-key.js";
import { mustBeInstalled } from "./preconditions.js";
import { resolve } from "./target.js";

export interface VerifiedEndpoint {
  api: VerifiedPort;
  connection: Connection;
  resolved: ResolvedAgent;
}

export type VerifiedApi = VerifiedEndpoint & { key: Secret };

export interface VerifyOptions {
  stop?: AbortSignal;
  /** Milliseconds for the check of the port's owner. */
  probeTimeout?: number;
}

/** The owner of the port is checked for each connection, before anything is sent on it. */
export const verifyPortOwner = (session: Session, agent: Agent, options: VerifyOptions = {}): Promise<VerifiedApi> =>
  verifiedEndpoint(session, agent, options, (resolved) => {
    const keyRef = mustHaveKey(agent, resolved.manifest);
    mustHaveOneKey(session, keyRef);
    const { key } = apiKeyOf(session, keyRef);
    const { name, unit, port } = resolved;
    return { name, unit, port, faultOf: (observation) => portOwnerFault(resolved, observation), found: { key } };
  });

interface OwnedPort<T> {
  /** Whose port it is, for messages. */
  name: string;
  unit: string;
  port: number;
  /** Why nothing may be sent to the port. */
  faultOf: (observation: Observation) => Fault | undefined;
  /** Also returned. */
  found: T;
}

/** `portOf` chooses a port of the agent, or refuses. */
export async function verifiedEndpoint<T>(
  session: Session,
  agent: Agent,
  { stop = session.signal, probeTimeout = 30_000 }: VerifyOptions,
  portOf: (resolved: ResolvedAgent) => OwnedPort<T>,
): Promise<VerifiedEndpoint & T> {
  const signal = AbortSignal.any([session.signal, stop]);
  mustBeInstalled(agent);
  // Reading a manifest takes about as long as the handshake: do both at once.
  const connecting = session.pool.connect(agent.host);
  connecting.catch(() => {});
  const resolved = await resolve(session, agent);
  const { name, unit, port, faultOf, found } = portOf(resolved);
  const connection = await waitFor(connecting, { signal });
  const asking = {
    host: resolved.host,
    what: `which process holds the port of ${name}`,
    timeout: probeTimeout,
    signal,
  };
  const script = portOwnerScript({ ...resolved, unit, port });
  const probe = async () => {
    const fault = faultOf(await askHost(await rootShellOf(connection), script, asking, parseObservation));
    if (fault) throw fault;
  };
  const api = new VerifiedPort(connection, port, () => waitFor(probe(), { signal }));
  return { api, connection, resolved, ...found };
}
