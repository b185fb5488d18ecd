import { asFault, Fault } from "../../errors.js";
import { Refusal } from "../../gateway/request/refusal.js";
import type { VerifiedEndpoint } from "../../gateway/upstream-pool/upstream-pool.js";
import { UpstreamPools, type UpstreamTarget } from "../../gateway/upstream-pool/upstream-pools.js";
import type { Connection } from "../../remote/connection.js";
import { findAgent } from "../../state/agents.js";
import { verifyProxyPort } from "../agent/proxy/prove.js";
import { verifyPortOwner } from "../agent/verify-port-owner.js";
import type { Session } from "../session.js";

export type HostEvent = { event: "lost"; host: string; why: Fault } | { event: "back"; host: string };

// Milliseconds; the same as a pool's timeout to connect.
const probeTimeout = 5000;

export function upstreamPoolsFor(session: Session, tell: (event: HostEvent) => void): UpstreamPools {
  const lost = new Set<string>();
  const watched = new Map<string, Connection>();

  function lose(host: string, why: Fault): void {
    if (session.signal.aborted || lost.has(host)) return;
    lost.add(host);
    tell({ event: "lost", host, why });
  }

  async function connect({ host, name, proxy }: UpstreamTarget, stop: AbortSignal): Promise<VerifiedEndpoint> {
    // Looked up each time: the agent's port may have changed.
    const agent = findAgent(session.hosts.read(), `${host}/${name}`);
    const open = proxy ? verifyProxyPort : verifyPortOwner;
    const { api, connection, ...rest } = await open(session, agent, { stop, probeTimeout });
    if (watched.get(host) !== connection) {
      watched.set(host, connection);
      void connection.closed.then(() => {
        // A connection to the host's former address does not matter.
        if (watched.get(host) === connection) lose(host, connection.lost());
      });
    }
    return { connection, port: api.port, open: () => api.open(), ...("key" in rest && { bearer: rest.key }) };
  }

  return new UpstreamPools({
    connect,
    onAttempt(host, error) {
      if (error !== undefined) lose(host, error instanceof Refusal ? unreachable(error, host) : asFault(error));
      else if (lost.delete(host)) tell({ event: "back", host });
    },
  });
}

const unreachable = ({ message }: Refusal, host: string): Fault =>
  new Fault("unreachable", message, { next: `clm host check ${host}` });
