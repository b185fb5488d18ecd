import { setTimeout as sleep } from "node:timers/promises";
import { type Dashboard, dashboardOf, holderScript, isHeld, roomIn, roomScript } from "../../agents/dashboard.js";
import { takenPorts } from "../../agents/ports.js";
import { type Seen, seenFrom } from "../../agents/proof/seen.js";
import type { Subject } from "../../agents/subject.js";
import { Fault } from "../../errors.js";
import { askHost } from "../../remote/ask-host.js";
import { ask } from "../../remote/http.js";
import type { Shell } from "../../remote/process.js";
import { VerifiedPort } from "../../remote/verified-port.js";
import { fullName, titleOf } from "../../state/agents.js";
import { mustBeInstalled } from "../agent/gates.js";
import { type Target, targetOf } from "../agent/target.js";
import type { Session } from "../session.js";
import { step } from "../step.js";
import { type Happening, keptOpen } from "./kept-open.js";
import { type Place, type Serving, serve } from "./serving.js";
import type { Way } from "./way.js";

/** Open: the agent's dashboard runs on its host, and a port here leads to it, as long as nobody says stop. */
export async function tunnelToDashboard(
  session: Session,
  word: string,
  { port }: { port?: number | undefined },
  tell: (happening: Happening, subject: Subject) => void,
): Promise<void> {
  const { agent, subject } = await targetOf(session, word);
  mustBeInstalled(agent);
  const dashboard = dashboardOf(subject);
  const full = fullName(agent);
  const deed = { verb: "agent open", target: full, summary: `open the dashboard of ${titleOf(agent)}` };
  await session.gate.pass(deed, () =>
    keptOpen({
      wanted: { port, rather: dashboard.ports.first, otherwise: `clm agent open ${subject.word}` },
      find: async () => wayToDashboard(session, await targetOf(session, full)),
      tell: (happening) => tell(happening, subject),
      signal: session.signal,
    }),
  );
}

async function wayToDashboard(session: Session, target: Target): Promise<Way> {
  const { agent, subject } = target;
  mustBeInstalled(agent);
  const dashboard = dashboardOf(subject);
  return step(session.ui, `start the dashboard of ${subject.name} on ${agent.host.name}`, async (progress) => {
    const connection = await session.pool.connect(agent.host);
    const root = connection.as("root");
    const place = placeIn(target, dashboard, await look(session, root, subject, roomScript(subject)));
    const hear = (line: string) => progress.output(line);
    const serving = await serve(session, connection, target, { dashboard, place, hear });
    const started = { root, target, dashboard, place, serving };
    const page = new VerifiedPort(connection, place.port, () => mustBeItsOwn(session, started));
    try {
      await mustAnswer(session, started, page);
    } catch (error) {
      await serving.end();
      throw error;
    }
    return { connection, open: () => page.open(), ended: serving.ended, close: () => serving.end() };
  });
}

function placeIn({ agent, subject }: Target, dashboard: Dashboard, { ports }: Seen): Place {
  const others = takenPorts(agent.host, agent.name, subject.manifest);
  const port = roomIn(
    dashboard,
    [...ports, ...others, subject].map((each) => each.port),
  );
  if (port !== undefined) return { port };
  const { first, last } = dashboard.ports;
  throw new Fault("in-use", `no port is free on ${agent.host.name} for the dashboard of ${subject.name}`, {
    why: `${first} to ${last} are all taken`,
  });
}

interface Started {
  root: Shell;
  target: Target;
  dashboard: Dashboard;
  place: Place;
  serving: Serving;
}

/** Waits until its own processes hold its port and its page comes. */
async function mustAnswer(session: Session, started: Started, page: VerifiedPort): Promise<void> {
  const { dashboard, serving } = started;
  const deadline = Date.now() + dashboard.patience;
  while (!(await isItsOwn(session, started))) {
    const fault = await Promise.race([serving.ended, sleep(300, undefined, { signal: session.signal })]);
    if (fault) throw fault;
    if (Date.now() > deadline) throw silent(started, "it does not listen");
  }
  const { signal } = session;
  const { status, body } = await ask(page, { method: "GET", path: dashboard.page, signal });
  for await (const _ of body) break;
  if (status !== 200) throw silent(started, `its page gave ${status}`);
}

async function isItsOwn(session: Session, { root, target, place, serving }: Started): Promise<boolean> {
  const { subject } = target;
  return isHeld(await look(session, root, subject, holderScript(subject, serving.unit, place.port)));
}

async function mustBeItsOwn(session: Session, started: Started): Promise<void> {
  if (!(await isItsOwn(session, started))) throw silent(started, "its port is not its own alone");
}

const look = ({ signal }: Session, root: Shell, { host }: Subject, script: string): Promise<Seen> =>
  askHost(root, script, { host, what: "who listens there", timeout: 30_000, signal }, seenFrom);

const silent = ({ target: { agent, subject } }: Started, why: string): Fault =>
  new Fault("remote-failed", `the dashboard of ${subject.name} on ${agent.host.name} did not come up`, {
    why,
    next: `clm agent doctor ${subject.word}`,
  });
