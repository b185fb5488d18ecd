import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { findAgent } from "../../state/agents.js";
import { targetOf } from "../agent/target.js";
import { verifyPortOwner } from "../agent/verify-port-owner.js";
import type { Session } from "../session.js";
import { keepTunnelOpen, type TunnelEvent } from "./keep-tunnel-open.js";

/** To a local port; by default the agent's own, or any free one. */
export async function tunnelToApi(
  session: Session,
  ref: string,
  { port }: { port?: number | undefined },
  tell: (happening: TunnelEvent, resolved: ResolvedAgent) => void,
): Promise<void> {
  const { resolved } = await targetOf(session, ref);
  await keepTunnelOpen({
    local: { port, preferred: resolved.port, next: `clm tunnel ${resolved.ref}` },
    // Resolved each time: the agent's port may have changed.
    async connect() {
      const { api, connection } = await verifyPortOwner(session, findAgent(session.hosts.read(), ref));
      // An sshd that forbids forwarding says so only when asked to forward.
      (await api.open()).destroy();
      const ended = connection.closed.then(() => connection.lost());
      return { connection, open: () => api.open(), ended, close: async () => {} };
    },
    tell: (happening) => tell(happening, resolved),
    signal: session.signal,
  });
}
