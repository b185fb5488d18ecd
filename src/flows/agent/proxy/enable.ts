import {
  type AgentProxy,
  mustServe,
  type ProxyType,
  proxyOf,
  proxyTypeOf,
  proxyUnit,
} from "../../../agents/proxy/proxy.js";
import type { ProxySeen } from "../../../agents/proxy/seen.js";
import { proxyWish } from "../../../agents/proxy/wish.js";
import { type Subject, subjectOf } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import { inOneShell } from "../../../remote/one-shell.js";
import { converge } from "../../../remote/operations/converge.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, fullName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { aloneWith } from "../alone.js";
import { bring } from "../bring.js";
import { type Change, changesOf } from "../change.js";
import { mustBeOurs } from "../configure/on-host.js";
import { mustBeInstalled } from "../gates.js";
import { gone } from "../rendered.js";
import { targetOf } from "../target.js";
import { claim, withProxy } from "./claim.js";
import { lookAtProxy, mustBeItsUnit, mustBeNobodysUnit } from "./look.js";
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
export function enableProxy(session: Session, word: string, provider: string | undefined): Promise<Enabled> {
  return aloneWith(session, word, (full) => enable(session, full, provider));
}

async function enable(session: Session, word: string, wanted: string | undefined): Promise<Enabled> {
  const { ui, gate, signal } = session;
  const { agent, subject: before } = await targetOf(session, word);
  mustBeInstalled(agent);
  const type = proxyTypeOf(before);
  const provider = wanted ?? agent.record.proxy?.provider;
  if (provider === undefined) throw unsaid(before, type);
  mustServe(before, type, provider);
  mustBeNobodysUnit(agent, proxyUnit(before, type));

  const root = await inOneShell((await session.pool.connect(agent.host)).as("root"));
  const kept = agent.record.proxy?.port;
  const seen = await step(ui, `check the login of ${agent.name} at ${provider}`, async () => {
    const seen = await lookAtProxy(session, root, before, type, { port: kept, logins: true });
    if (!seen.account) throw gone(agent, before);
    mustBeOurs(before, seen, agent.record.mark);
    mustBeItsUnit(before, proxyUnit(before, type), seen);
    mustBeLoggedIn(before, type, provider, seen);
    return seen;
  });

  const claiming = { provider, manifest: before.manifest, type, seen };
  const planned = (record: AgentRecord) => {
    const subject = subjectOf(before.manifest, { ...agent, record });
    return { record, subject, proxy: proxyOf(subject) as AgentProxy, wish: proxyWish(subject, seen.systemd) };
  };
  let plan = planned(withProxy(agent, claiming));
  const deed = {
    verb: "agent proxy enable",
    target: fullName(agent),
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
      ? await bring(session, deed, { root, wish: () => plan.wish, first, title: `start ${plan.proxy.unit}` })
      : [];
  const { record, subject, proxy } = plan;
  const upstream = gate.dryRun ? undefined : await mustAnswer(session, { root, subject, type, proxy });
  return { agent: { ...agent, record: gate.dryRun ? agent.record : record }, proxy, changes, upstream };
}

const unsaid = ({ word }: Subject, { providers }: ProxyType): Fault =>
  new Fault("usage", "--provider is missing: say whose login is to be lent", {
    why: `there are ${Object.keys(providers).join(", ")}`,
    next: `clm agent proxy ${word} enable --provider ${Object.keys(providers)[0]}`,
  });

/** As its own program says it: nobody else can tell whether a login still holds. */
function mustBeLoggedIn({ name, word }: Subject, type: ProxyType, provider: string, { logins }: ProxySeen): void {
  const login = logins.find((each) => each.provider === provider);
  if (login?.ready) return;
  const said = login ? `its program says: ${login.state}` : `its program says nothing of ${provider}`;
  const { title = provider, login: words = "" } = type.providers[provider] ?? {};
  throw new Fault("not-ready", `${name} is not logged in at ${title}; nothing was changed`, {
    why: [said, `log in as the agent's user: ${words}`],
    next: [`clm agent shell ${word}`, `clm agent exec ${word} -- ${words}`],
    data: { provider, login: words, ...(login && { state: login.state }) },
  });
}
