import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Dashboard,
  dashboardOf,
  dashboardWords,
  holderScript,
  isHeld,
  roomIn,
  roomScript,
} from "../../agents/dashboard/dashboard.js";
import { loadManifests } from "../../agents/manifest/registry.js";
import { takenPorts } from "../../agents/plan/ports.js";
import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { transientUnit } from "../../agents/plan/transient-unit.js";
import { type Observation, parseObservation } from "../../agents/probe/proof/observation.js";
import { Fault } from "../../errors.js";
import { askHost } from "../../remote/ask-host.js";
import type { Connection } from "../../remote/connection.js";
import { ask } from "../../remote/http.js";
import { commandFor } from "../../remote/stdin-script.js";
import { VerifiedPort } from "../../remote/verified-port.js";
import { agentId, hostAndName } from "../../state/agents.js";
import { LineReader } from "../../text/line-reader.js";
import { leashOn } from "../agent/exec/exec-leash.js";
import { mustBeInstalled } from "../agent/preconditions.js";
import { type AgentTarget, targetOf } from "../agent/target.js";
import type { Session } from "../session.js";
import { withProgress } from "../with-progress.js";
import { keepTunnelOpen, type TunnelEvent } from "./keep-tunnel-open.js";
import type { TunnelEndpoint } from "./port-forwarder.js";

/** Runs the agent's dashboard on its host and forwards a local port to it until stopped. */
export async function tunnelToDashboard(
  session: Session,
  word: string,
  { port }: { port?: number | undefined },
  tell: (happening: TunnelEvent, resolved: ResolvedAgent) => void,
): Promise<void> {
  const { agent, resolved } = await targetOf(session, word);
  mustBeInstalled(agent);
  const dashboard = dashboardOf(resolved);
  const full = hostAndName(agent);
  const action = { verb: "agent open", target: full, summary: `open the dashboard of ${agentId(agent)}` };
  await session.gate.pass(action, () =>
    keepTunnelOpen({
      local: { port, preferred: dashboard.ports.first, next: `clm agent open ${resolved.ref}` },
      connect: async () => dashboardEndpoint(session, await targetOf(session, full)),
      tell: (happening) => tell(happening, resolved),
      signal: session.signal,
    }),
  );
}

async function dashboardEndpoint(session: Session, target: AgentTarget): Promise<TunnelEndpoint> {
  const { agent, resolved } = target;
  mustBeInstalled(agent);
  const dashboard = dashboardOf(resolved);
  const { ui, pool, signal } = session;
  return withProgress(ui, `start the dashboard of ${resolved.name} on ${agent.host.name}`, async (progress) => {
    const connection = await pool.connect(agent.host);
    const root = connection.as("root");
    const asking = { host: resolved.host, what: "which processes listen on its ports", timeout: 30_000, signal };
    const probe = (script: string) => askHost(root, script, asking, parseObservation);
    const port = await freePort(session, target, dashboard, await probe(roomScript(resolved)));
    const onLine = (line: string) => progress.output(line);
    const serving = await runDashboard(session, connection, target, { dashboard, port, onLine });
    const isItsOwn = async () => isHeld(await probe(holderScript(resolved, serving.unit, port)));
    const page = new VerifiedPort(connection, port, async () => {
      if (!(await isItsOwn())) throw silent(target, "its port is not its own alone");
    });
    // Until its own processes hold its port and its page comes.
    try {
      const deadline = Date.now() + dashboard.timeout;
      while (!(await isItsOwn())) {
        const fault = await Promise.race([serving.ended, sleep(300, undefined, { signal })]);
        if (fault) throw fault;
        if (Date.now() > deadline) throw silent(target, "it does not listen");
      }
      const { status, body } = await ask(page, { method: "GET", path: dashboard.page, signal });
      for await (const _ of body) break;
      if (status !== 200) throw silent(target, `its page returned ${status}`);
    } catch (error) {
      await serving.end();
      throw error;
    }
    return { connection, open: () => page.open(), ended: serving.ended, close: () => serving.end() };
  });
}

/**
 * Starts the dashboard as the agent's user, in the sandbox of its service. `ended` resolves with the reason when it ends
 * by itself or with the connection, `end` when the host reports that it is gone, or is lost.
 */
async function runDashboard(
  session: Session,
  connection: Connection,
  target: AgentTarget,
  { dashboard, port, onLine }: { dashboard: Dashboard; port: number; onLine: (line: string) => void },
) {
  const { resolved } = target;
  const leash = await leashOn(session, connection, [target]);
  try {
    const unit = leash.unit();
    const words = dashboardWords(resolved, dashboard, port);
    const run = transientUnit({ resolved, unit, sign: leash.sign, env: leash.hasEnv(target), streams: "pipe", words });
    const process = await connection.as("root").spawn(commandFor(`${run}\n`));
    process.stdin.end(`${run}\n`);
    const last = lastLines([process.stdout, process.stderr], onLine);
    const gone = process.done.then(
      ({ code }) => notServing(target, last(), code),
      (fault: Fault) => fault,
    );
    return { unit, ended: gone, end: () => leash.end("stop") };
  } catch (error) {
    await leash.end("stop");
    throw error;
  }
}

// Bytes.
const longestLine = 16_384;

function lastLines(streams: Readable[], onLine: (line: string) => void): () => string[] {
  const kept: string[] = [];
  for (const input of streams) {
    const reader = new LineReader(
      (line) => {
        if (line.trim() === "") return;
        onLine(line);
        kept.push(line.trim());
        if (kept.length > 3) kept.shift();
      },
      { maxBytes: longestLine },
    );
    input.on("error", () => {});
    input.on("data", (chunk: Buffer) => reader.push(chunk)).on("end", () => reader.end());
  }
  return () => kept;
}

const notServing = ({ agent, resolved }: AgentTarget, said: string[], code: number | null): Fault =>
  new Fault("remote-failed", `the dashboard of ${resolved.name} on ${agent.host.name} ended`, {
    why: said.length > 0 ? said : `it ended with ${code ?? "a signal"}`,
    next: `clm agent doctor ${resolved.ref}`,
  });

async function freePort(
  { configDir }: Session,
  { agent, resolved }: AgentTarget,
  dashboard: Dashboard,
  { ports }: Observation,
): Promise<number> {
  const others = takenPorts(agent.host, agent.name, await loadManifests(configDir));
  const port = roomIn(
    dashboard,
    [...ports, ...others, resolved].map((each) => each.port),
  );
  if (port !== undefined) return port;
  const { first, last } = dashboard.ports;
  throw new Fault("in-use", `no port is free on ${agent.host.name} for the dashboard of ${resolved.name}`, {
    why: `${first} to ${last} are all taken`,
  });
}

const silent = ({ agent, resolved }: AgentTarget, why: string): Fault =>
  new Fault("remote-failed", `the dashboard of ${resolved.name} on ${agent.host.name} did not come up`, {
    why,
    next: `clm agent doctor ${resolved.ref}`,
  });
