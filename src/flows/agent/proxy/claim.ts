import type { Manifest } from "../../../agents/manifest/manifest.js";
import { portsOf, takenPorts } from "../../../agents/plan/ports.js";
import { type ProxyType, proxyPort } from "../../../agents/plan/proxy.js";
import type { ProxyObservation } from "../../../agents/proxy/probe.js";
import { Fault } from "../../../errors.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, findAgent, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";

export interface Claim {
  provider: string;
  manifest: Manifest;
  types: readonly Manifest[];
  type: ProxyType;
  seen: Pick<ProxyObservation, "ports" | "listeners">;
}

/** Chooses and records the port under the lock: another agent may have got one since the host was probed. */
export async function claim({ hosts }: Pick<Session, "hosts">, agent: Agent, claim: Claim): Promise<AgentRecord> {
  let { record } = agent;
  await hosts.update((fleet) => {
    const now = findAgent(fleet, hostAndName(agent));
    record = withProxy(now, claim);
    const host = { ...now.host, agents: { ...now.host.agents, [now.name]: record } };
    return { ...fleet, hosts: fleet.hosts.map((each) => (each === now.host ? host : each)) };
  });
  return record;
}

export const withProxy = (agent: Agent, claim: Claim): AgentRecord => ({
  ...agent.record,
  proxy: { provider: claim.provider, port: portFor(agent, claim) },
});

/** Keeps the current port unless another process has it now. */
function portFor({ host, name, record }: Agent, { manifest, types, type, seen }: Claim): number {
  const { proxy, ...rest } = record;
  const taken = [...takenPorts(host, name, types).map(({ port }) => port), ...portsOf(manifest, rest)];
  const isOwn = (port: number) => port === proxy?.port && seen.listeners.every(({ own }) => own);
  const heard = seen.ports.map(({ port }) => port).filter((port) => !isOwn(port));
  const port = proxyPort(type, proxy?.port, taken, heard);
  if (port !== undefined) return port;
  const { first, last } = type.ports;
  throw new Fault("in-use", `no port is free on ${host.name} for the proxy of ${name}`, {
    why: `${first} to ${last} are all taken`,
    next: `clm host exec ${host.name} --sudo -- ss -ltnp`,
  });
}
