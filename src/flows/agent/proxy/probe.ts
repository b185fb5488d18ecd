import type { ProxyType } from "../../../agents/plan/proxy.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import {
  type ProxyObservation,
  type ProxyProbeOptions,
  parseProxyObservation,
  probeTimeout,
  proxyScript,
} from "../../../agents/proxy/probe.js";
import { Fault } from "../../../errors.js";
import { askHost } from "../../../remote/ask-host.js";
import type { Shell } from "../../../remote/process.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";

/** In one exec. */
export async function probeProxy(
  { signal, ui }: Session,
  root: Shell,
  agent: ResolvedAgent,
  type: ProxyType,
  sight: ProxyProbeOptions,
): Promise<ProxyObservation> {
  const asking = { host: agent.host, what: `the status of the proxy of ${agent.name}`, timeout: probeTimeout, signal };
  const script = proxyScript(agent, type, sight);
  const { words, logins, ...seen } = await askHost(root, script, asking, parseProxyObservation(type));
  // Both are output of the agent's program.
  const plain = (text: string) =>
    ui
      .redact(text)
      .replace(/\p{Cc}/gu, " ")
      .slice(0, 300);
  return {
    ...seen,
    words: words.map(plain),
    logins: logins.map((login) => ({ ...login, state: plain(login.state) })),
  };
}

/** A unit of that name that runs as another user belongs to another agent or program. */
export function strangerIn(
  { user }: ResolvedAgent,
  { runsAs, unit: { LoadState } }: ProxyObservation,
): string | undefined {
  return LoadState !== "loaded" || runsAs === user ? undefined : `it runs as ${runsAs || "root"}, and not as ${user}`;
}

export function mustBeItsUnit(agent: ResolvedAgent, unit: string, seen: ProxyObservation): void {
  const why = strangerIn(agent, seen);
  if (why === undefined) return;
  const { host, name } = agent;
  throw new Fault("in-use", `${unit} on ${host} is not the proxy of ${name}; nothing was changed`, {
    why,
    next: `clm host exec ${host} --sudo -- systemctl cat ${unit}`,
  });
}

/** Another agent's own unit may have that name, and may not have been started yet. */
export function mustBeNobodysUnit({ host, name }: Agent, unit: string): void {
  const other = Object.keys(host.agents).find((each) => each !== name && host.agents[each]?.unit === unit);
  if (other === undefined) return;
  throw new Fault("in-use", `${unit} on ${host.name} is the unit of the agent ${other}; nothing was changed`, {
    next: `clm agent show ${host.name}/${other}`,
  });
}
