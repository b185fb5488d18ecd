import { portsOf, takenPorts } from "../../../agents/ports.js";
import {
  type AgentProxy,
  mustServe,
  type ProxyType,
  proxyOf,
  proxyPort,
  proxyTypeOf,
  proxyUnit,
} from "../../../agents/proxy/proxy.js";
import type { ProxySeen } from "../../../agents/proxy/seen.js";
import { proxyWish } from "../../../agents/proxy/wish.js";
import { type Subject, subjectOf } from "../../../agents/subject.js";
import { Fault } from "../../../errors.js";
import { inOneShell } from "../../../remote/one-shell.js";
import { converge } from "../../../remote/operations/converge.js";
import { type Agent, findAgent, fullName } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { step } from "../../step.js";
import { alone } from "../alone.js";
import { bring } from "../bring.js";
import { type Change, changesOf } from "../change.js";
import { mustBeOurs } from "../configure/on-host.js";
import { changeRecord } from "../configure/record.js";
import { mustBeInstalled } from "../gates.js";
import { gone } from "../rendered.js";
import { targetOf } from "../target.js";
import { lookAtProxy, mustBeItsUnit } from "./look.js";
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
  const { host, name } = findAgent(session.hosts.read(), word);
  return alone(session, { host: host.name, name }, () => enable(session, `${host.name}/${name}`, provider));
}

async function enable(session: Session, word: string, wanted: string | undefined): Promise<Enabled> {
  const { ui, gate, signal } = session;
  const { agent, subject: before } = await targetOf(session, word);
  mustBeInstalled(agent);
  const type = proxyTypeOf(before);
  const provider = wanted ?? agent.record.proxy?.provider;
  if (provider === undefined) throw unsaid(before, type);
  mustServe(before, type, provider);

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

  const record = { ...agent.record, proxy: { provider, port: portFor(agent, before, type, seen) } };
  const subject = subjectOf(before.manifest, { ...agent, record });
  const proxy = proxyOf(subject) as AgentProxy;
  const wish = proxyWish(subject, seen.systemd);
  const deed = {
    verb: "agent proxy enable",
    target: fullName(agent),
    summary: `lend ${agent.name}'s login at ${provider} on port ${proxy.port} of ${agent.host.name}`,
  };
  // Written down before the host is changed: killed in between, it is what is to be, and what a removal takes away.
  const first = () => changeRecord(session, agent, (now) => ({ ...now, proxy: record.proxy }));
  const differs = changesOf(await converge(root, wish, { mode: "check", signal })).length > 0;
  const changes = differs ? await bring(session, deed, { root, wish, first, title: `start ${proxy.unit}` }) : [];
  const isRecorded = kept === proxy.port && agent.record.proxy?.provider === provider;
  if (!differs && !isRecorded) await gate.pass(deed, first);
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

/** The one it has, unless somebody else took it meanwhile. */
function portFor({ host, name, record }: Agent, { manifest }: Subject, type: ProxyType, seen: ProxySeen): number {
  const { proxy, ...rest } = record;
  const taken = [...takenPorts(host, name, manifest).map(({ port }) => port), ...portsOf(manifest, rest)];
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
