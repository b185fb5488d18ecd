import { setTimeout as sleep } from "node:timers/promises";
import { isHeld } from "../../../agents/dashboard/dashboard.js";
import { type AgentProxy, type ProxyType, proxyOf } from "../../../agents/plan/proxy.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { brief, fixes } from "../../../agents/probe/proof/judge.js";
import type { ProxyObservation } from "../../../agents/proxy/probe.js";
import { proxyTrouble } from "../../../agents/proxy/trouble.js";
import { Fault } from "../../../errors.js";
import type { Shell } from "../../../remote/process.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { type VerifiedEndpoint, type VerifyOptions, verifiedEndpoint } from "../verify-port-owner.js";
import { probeProxy } from "./probe.js";

interface RunningProxy {
  root: Shell;
  resolved: ResolvedAgent;
  type: ProxyType;
  proxy: AgentProxy;
}

const pause = 300;

/** Waits until its own processes hold its port and it reports a login. Returns the name of its upstream. */
export async function mustAnswer(
  session: Session,
  { root, resolved, type, proxy }: RunningProxy,
): Promise<string | undefined> {
  const deadline = Date.now() + type.timeout;
  for (;;) {
    const seen = await probeProxy(session, root, resolved, type, { port: proxy.port });
    if (isServing(seen)) return seen.says?.upstream;
    if (isHopeless(seen) || Date.now() > deadline) throw notServing(resolved, proxy, seen);
    await sleep(pause, undefined, { signal: session.signal });
  }
}

export const isServing = (seen: ProxyObservation): boolean => isHeld(seen) && seen.says?.authenticated === true;

const isHopeless = ({ unit: { ActiveState, SubState }, says }: ProxyObservation): boolean =>
  ActiveState === "failed" ||
  ActiveState === "inactive" ||
  SubState === "auto-restart" ||
  says?.authenticated === false;

export function notServing(agent: ResolvedAgent, proxy: AgentProxy, seen: ProxyObservation): Fault {
  const { name, ref, host } = agent;
  const trouble = proxyTrouble(agent, proxy, seen);
  const last = seen.words.filter((line) => line.trim() !== "" && !line.startsWith(`${proxy.unit}: `)).at(-1);
  const said = last ? [`its last output: ${brief(last)}`] : [];
  if (trouble) return trouble.with({ why: [...trouble.why, ...said] });
  const { health } = agent.manifest.proxy ?? {};
  return new Fault("check-failed", `the proxy of ${name} on ${host} does not serve`, {
    why: seen.says?.authenticated === false ? "it reports that it is not logged in" : `${health} did not respond`,
    next: [`clm agent proxy enable ${ref} --provider ${proxy.provider}`, fixes({ ...agent, unit: proxy.unit }).journal],
  });
}

/** Another process on the port could read the conversations. The proxy takes no key: it serves every client. */
export const verifyProxyPort = (
  session: Session,
  agent: Agent,
  options: VerifyOptions = {},
): Promise<VerifiedEndpoint & { proxy: AgentProxy }> =>
  verifiedEndpoint(session, agent, options, (resolved) => {
    const proxy = proxyOf(resolved);
    const next = `clm agent proxy status ${agent.ref}`;
    if (!proxy) throw new Fault("not-ready", `${agent.name} has no proxy`, { next });
    const name = `the proxy of ${resolved.name}`;
    return { ...proxy, name, faultOf: (observation) => proxyTrouble(resolved, proxy, observation), found: { proxy } };
  });
