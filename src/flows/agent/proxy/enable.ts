import { type Change, changesOf } from "../../../agents/plan/change.js";
import { mustBeOurs } from "../../../agents/plan/plan.js";
import { type ResolvedAgent, resolvedAgent } from "../../../agents/plan/resolved-agent.js";
import type { ProxyObservation } from "../../../agents/proxy/probe.js";
import {
  type AgentProxy,
  mustServe,
  type ProxyType,
  proxyOf,
  proxyTypeOf,
  proxyUnit,
} from "../../../agents/proxy/proxy.js";
import { proxyOperations } from "../../../agents/proxy/unit.js";
import { Fault } from "../../../errors.js";
import { converge } from "../../../remote/operations/converge.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, hostAndName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { withLockedAgent } from "../agent-lock.js";
import { bring } from "../bring.js";
import { mustBeInstalled } from "../preconditions.js";
import { mustHaveAccount } from "../prepare.js";
import { targetOf } from "../target.js";
import { claim, withProxy } from "./claim.js";
import { mustBeItsUnit, mustBeNobodysUnit, probeProxy } from "./probe.js";
import { mustAnswer } from "./prove.js";

export interface Enabled {
  agent: Agent;
  proxy: AgentProxy;
  /** None when it was so already. */
  changes: Change[];
  /** What it calls the service it passes requests on to; nothing in a dry run. */
  upstream?: string | undefined;
}

/** Enable: the agent's login at a provider is lent by a unit of its own, on a port of its own, and it says so itself. */
export function enableProxy(session: Session, ref: string, provider: string | undefined): Promise<Enabled> {
  return withLockedAgent(session, ref, (agent) => enable(session, hostAndName(agent), provider));
}

async function enable(session: Session, ref: string, wanted: string | undefined): Promise<Enabled> {
  const { ui, gate, signal } = session;
  const { agent, resolved: before } = await targetOf(session, ref);
  mustBeInstalled(agent);
  const type = proxyTypeOf(before);
  const provider = wanted ?? agent.record.proxy?.provider;
  if (provider === undefined) throw unsaid(before, type);
  mustServe(before, type, provider);
  mustBeNobodysUnit(agent, proxyUnit(before, type));

  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const kept = agent.record.proxy?.port;
  const seen = await step(ui, `check the login of ${agent.name} at ${provider}`, async () => {
    const seen = await probeProxy(session, root, before, type, { port: kept, logins: true });
    mustHaveAccount(before, seen);
    mustBeOurs(before, seen, agent.record.mark);
    mustBeItsUnit(before, proxyUnit(before, type), seen);
    mustBeLoggedIn(before, type, provider, seen);
    return seen;
  });

  const claiming = { provider, manifest: before.manifest, type, seen };
  const planned = (record: AgentRecord) => {
    const resolved = resolvedAgent(before.manifest, { ...agent, record });
    return { record, resolved, proxy: proxyOf(resolved) as AgentProxy, wish: proxyOperations(resolved, seen.systemd) };
  };
  let plan = planned(withProxy(agent, claiming));
  const action = {
    verb: "agent proxy enable",
    target: hostAndName(agent),
    summary: `lend ${agent.name}'s login at ${provider} on port ${plan.proxy.port} of ${agent.host.name}`,
  };
  // Written down before the host is changed: killed in between, it is what is to be, and what a removal takes away.
  const first = async () => {
    plan = planned(await claim(session, agent, claiming));
  };
  const differs = changesOf(await converge(root, plan.wish, { mode: "check", signal })).length > 0;
  const isRecorded = kept === plan.proxy.port && agent.record.proxy?.provider === provider;
  const changes =
    differs || !isRecorded
      ? await bring(session, action, { root, wish: () => plan.wish, first, title: `start ${plan.proxy.unit}` })
      : [];
  const { record, resolved, proxy } = plan;
  const upstream = gate.dryRun ? undefined : await mustAnswer(session, { root, resolved, type, proxy });
  return { agent: { ...agent, record: gate.dryRun ? agent.record : record }, proxy, changes, upstream };
}

const unsaid = ({ ref }: ResolvedAgent, { providers }: ProxyType): Fault =>
  new Fault("usage", "--provider is missing: say whose login is to be lent", {
    why: `there are ${Object.keys(providers).join(", ")}`,
    next: `clm agent proxy ${ref} enable --provider ${Object.keys(providers)[0]}`,
  });

/** As its own program says it: nobody else can tell whether a login still holds. */
function mustBeLoggedIn(
  { name, ref }: ResolvedAgent,
  type: ProxyType,
  provider: string,
  { logins }: ProxyObservation,
): void {
  const login = logins.find((each) => each.provider === provider);
  if (login?.ready) return;
  const said = login ? `its program says: ${login.state}` : `its program says nothing of ${provider}`;
  const { title = provider, login: words = "" } = type.providers[provider] ?? {};
  throw new Fault("not-ready", `${name} is not logged in at ${title}; nothing was changed`, {
    why: [said, `log in as the agent's user: ${words}`],
    next: [`clm agent shell ${ref}`, `clm agent exec ${ref} -- ${words}`],
    data: { provider, login: words, ...(login && { state: login.state }) },
  });
}
