import type { Manifest } from "../../../agents/manifest/manifest.js";
import { loadManifests } from "../../../agents/manifest/registry.js";
import { type Change, changesOf } from "../../../agents/plan/change.js";
import { proxyOperations } from "../../../agents/plan/operations.js";
import { mustBeOurs } from "../../../agents/plan/plan.js";
import { portsOf, takenPorts } from "../../../agents/plan/ports.js";
import {
  type AgentProxy,
  mustServe,
  type ProxyType,
  proxyOf,
  proxyPort,
  proxyTypeOf,
  proxyUnit,
} from "../../../agents/plan/proxy.js";
import { type ResolvedAgent, resolvedAgent } from "../../../agents/plan/resolved-agent.js";
import type { ProxyObservation } from "../../../agents/proxy/probe.js";
import { Fault } from "../../../errors.js";
import { converge } from "../../../remote/operations/converge.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, findAgent, hostAndName } from "../../../state/agents.js";
import { check, flow } from "../../flow.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { mustBeInstalled } from "../preconditions.js";
import { mustHaveAccount } from "../prepare.js";
import { resolve } from "../target.js";
import { mustBeItsUnit, mustBeNobodysUnit, probeProxy } from "./probe.js";
import { mustAnswer } from "./prove.js";

export interface EnableResult {
  agent: Agent;
  proxy: AgentProxy;
  /** None when it was enabled before. */
  changes: Change[];
  /** Absent in a dry run. */
  upstream?: string | undefined;
}

/** A separate unit serves the agent's login at a provider on a port of its own. */
export const enableProxy = (session: Session, ref: string, wanted: string | undefined): Promise<EnableResult> =>
  withLockedAgent(session, ref, async (agent) => {
    const resolved = await resolve(session, agent);
    mustBeInstalled(agent);
    const { manifest } = resolved;
    const type = proxyTypeOf(resolved);
    const unit = proxyUnit(resolved, type);
    const provider = wanted ?? agent.record.proxy?.provider;
    if (provider === undefined) throw noProvider(resolved, type);
    mustServe(resolved, type, provider);
    mustBeNobodysUnit(agent, unit);

    const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
    const recorded = agent.record.proxy;
    const seen = await check(session, `check the login of ${agent.name} at ${provider}`, async () => {
      const seen = await probeProxy(session, root, resolved, type, { port: recorded?.port, logins: true });
      mustHaveAccount(resolved, seen);
      mustBeOurs(resolved, seen, agent.record.mark);
      mustBeItsUnit(resolved, unit, seen);
      mustBeLoggedIn(resolved, type, provider, seen);
      return seen;
    });

    const planFor = (record: AgentRecord) => {
      const planned = resolvedAgent(manifest, { ...agent, record });
      const proxy = proxyOf(planned) as AgentProxy;
      return { record, resolved: planned, proxy, operations: proxyOperations(planned, seen.systemd) };
    };
    const claiming = { provider, manifest, types: await loadManifests(session.configDir), type, seen };
    const first = planFor(withProxy(agent, claiming));
    const differs = changesOf(await converge(root, first.operations, { mode: "check", signal: session.signal }));
    const isSame = differs.length === 0 && recorded?.port === first.proxy.port && recorded.provider === provider;
    const action = {
      verb: "agent proxy enable",
      target: hostAndName(agent),
      summary: `lend ${agent.name}'s login at ${provider} on port ${first.proxy.port} of ${agent.host.name}`,
    };
    return flow(session, action, async ({ change, prove, record }) => {
      // Before the host changes: after a kill in between, the same command resumes and a removal finds the unit.
      const claimed = isSame ? undefined : await record("provider and port", () => claim(session, agent, claiming));
      const { proxy, operations, ...plan } = claimed ? planFor(claimed) : first;
      const changes = isSame ? [] : changesOf(await change(`start ${proxy.unit}`, { root, operations }));
      const upstream = await prove(`prove that ${proxy.unit} answers`, () =>
        mustAnswer(session, { root, resolved: plan.resolved, type, proxy }),
      );
      return { agent: { ...agent, record: claimed ?? agent.record }, proxy, changes, upstream };
    });
  });

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

const withProxy = (agent: Agent, claim: Claim): AgentRecord => ({
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

const noProvider = ({ ref }: ResolvedAgent, { providers }: ProxyType): Fault =>
  new Fault("usage", "--provider is missing: name the provider whose login the proxy uses", {
    why: `there are ${Object.keys(providers).join(", ")}`,
    next: `clm agent proxy enable ${ref} --provider ${Object.keys(providers)[0]}`,
  });

/** Only the agent's own program can tell whether a login is still valid. */
function mustBeLoggedIn(
  { name, ref }: ResolvedAgent,
  type: ProxyType,
  provider: string,
  { logins }: ProxyObservation,
): void {
  const login = logins.find((each) => each.provider === provider);
  if (login?.ready) return;
  const state = login ? `its program reports: ${login.state}` : `its program does not mention ${provider}`;
  const { title = provider, login: words = "" } = type.providers[provider] ?? {};
  throw new Fault("not-ready", `${name} is not logged in at ${title}; nothing was changed`, {
    why: [state, `log in as the agent's user: ${words}`],
    next: [`clm agent shell ${ref}`, `clm agent exec ${ref} -- ${words}`],
    data: { provider, login: words, ...(login && { state: login.state }) },
  });
}
