import { type AgentProxy, proxyOf } from "../../../agents/plan/proxy.js";
import { proxyTrouble } from "../../../agents/proxy/trouble.js";
import { Fault } from "../../../errors.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { type VerifiedEndpoint, type VerifyOptions, verifiedEndpoint } from "../verify-port-owner.js";

/** Another process on the port could read the conversations. The proxy takes no key: it serves every client. */
export const verifyProxyPort = (
  session: Session,
  agent: Agent,
  options: VerifyOptions = {},
): Promise<VerifiedEndpoint & { proxy: AgentProxy }> =>
  verifiedEndpoint(session, agent, options, (resolved) => {
    const proxy = proxyOf(resolved);
    if (!proxy) throw none(agent);
    const name = `the proxy of ${resolved.name}`;
    return { ...proxy, name, faultOf: (observation) => proxyTrouble(resolved, proxy, observation), found: { proxy } };
  });

const none = ({ name, ref }: Agent): Fault =>
  new Fault("not-ready", `${name} has no proxy`, { next: `clm agent proxy status ${ref}` });
