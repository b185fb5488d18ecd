import { Readable } from "node:stream";
import { type CodexType, codexHome, inPlaces } from "../../../agents/hermes/codex/runtime.js";
import type { CodexSight } from "../../../agents/hermes/codex/sight.js";
import { Fault } from "../../../errors.js";
import { dir } from "../../../remote/operations/operation.js";
import type { Secret } from "../../../secret.js";
import { type Agent, agentId, findAgent, hostAndName } from "../../../state/agents.js";
import { LineReader } from "../../../text/line-reader.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { codeOf, execIn } from "../exec/exec.js";
import { leashOn } from "../exec/leash.js";
import { targetOf } from "../target.js";
import { lookAtCodex } from "./look.js";
import { runtimeOf, sceneOf } from "./scene.js";

export interface LoggedIn {
  agent: Agent;
  /** How Codex is logged in, as it says itself; nothing when it is not. */
  codex?: string | undefined;
  /** Codex has no need of one: its model provider is the user's own. */
  needless: boolean;
  hermes: boolean;
  /** What was done for it. */
  done: ("codex" | "agent")[];
}

export interface LoginRequest {
  home?: keyof CodexType["homes"] | undefined;
  /** Codex gets this instead of a login by a person. */
  apiKey?: Secret | undefined;
  /** What the programs on the host say, with the code and the address to go to. */
  hear: (line: string) => void;
}

/**
 * Login: Codex and the agent each get a login of their own, by a person who goes to the address that is shown. Each says so
 * itself afterwards.
 */
export function loginForCodex(session: Session, word: string, request: LoginRequest): Promise<LoggedIn> {
  return withLockedAgent(session, word, (agent) => logIn(session, hostAndName(agent), request));
}

async function logIn(session: Session, word: string, request: LoginRequest): Promise<LoggedIn> {
  const scene = await sceneOf(session, word, request.home);
  const { agent, type, root } = scene;
  const before = runtimeOf(scene.resolved, type);
  const home = request.home ? inPlaces(scene.resolved, type.homes[request.home]) : before.home;
  const resolved = { ...scene.resolved, runtime: { ...before, home, kind: "codex" as const } };
  const look = () =>
    lookAtCodex(
      session,
      { agent, resolved },
      {
        ...{ server: true, still: true, thread: false, sandbox: false },
      },
    );
  const first = await look();
  if (!first.version) {
    throw new Fault("not-ready", `there is no Codex that works for ${agentId(agent)}`, {
      why: first.broken ?? `there is no ${type.program} on the PATH of its service`,
      next: `clm agent runtime codex ${agent.ref} --install-codex`,
    });
  }
  const environment = Object.entries(codexHome(resolved)).map(([name, value]) => `${name}=${value}`);
  const codex = ["env", ...environment, type.program];
  const done: LoggedIn["done"] = [];
  const kindIn = (sight: CodexSight) =>
    (sight.account && "kind" in sight.account ? sight.account.kind : undefined) ?? undefined;
  const action = {
    verb: "agent runtime login",
    target: hostAndName(agent),
    summary: `log ${agentId(agent)} in for Codex`,
  };
  const after = await session.gate.pass(action, async (executor) => {
    // A place of its own has to be there before Codex uses it.
    await executor.converge(root, [dir(home, { owner: resolved.user, mode: 0o700 })]);
    if (request.apiKey) {
      const command = [...codex, "login", "--with-api-key"];
      await runThere(session, agent, { what: "Codex", command, secret: request.apiKey }, request);
      done.push("codex");
    } else if (!kindIn(first) && needsLogin(first)) {
      await runThere(session, agent, { what: "Codex", command: [...codex, ...type.login] }, request);
      done.push("codex");
    }
    if (!first.hermes && !request.apiKey) {
      const command = [resolved.paths.launcher, ...type.agent_login];
      await runThere(session, agent, { what: resolved.manifest.title, command }, request);
      done.push("agent");
    }
    return look();
  });
  const last = after ?? first;
  return {
    agent: findAgent(session.hosts.read(), hostAndName(agent)),
    codex: kindIn(last),
    needless: !needsLogin(last),
    hermes: last.hermes,
    done,
  };
}

/** One whose model provider is the user's own may need none. */
const needsLogin = ({ account }: CodexSight): boolean => !account || !("needed" in account) || account.needed;

/** One program that talks to a person. What is secret goes to its stdin. */
async function runThere(
  session: Session,
  agent: Agent,
  { what, command, secret }: { what: string; command: string[]; secret?: Secret },
  { hear }: LoginRequest,
): Promise<void> {
  const target = await targetOf(session, hostAndName(agent));
  const leash = await leashOn(session, await session.pool.connect(agent.host), [target]);
  let how: "done" | "stop" = "stop";
  // In whole lines: half of one may be half of a secret.
  const lines = { stdout: linesTo(hear), stderr: linesTo(hear) };
  try {
    const exit = await execIn(session, target, leash, {
      command,
      ...(secret && { input: Readable.from([Buffer.from(`${secret.reveal()}\n`)]) }),
      onOutput: (_, stream, bytes) => lines[stream].push(bytes),
    });
    how = "done";
    for (const each of Object.values(lines)) each.end();
    if (codeOf(exit) === 0) return;
    throw new Fault("remote-failed", `${what} did not log in on ${agent.host.name}: it ended with ${codeOf(exit)}`, {
      why: "what it said stands above",
      next: `clm agent shell ${agent.ref}`,
    });
  } finally {
    await leash.end(how);
  }
}

/** Whole lines, without those that are empty. */
const linesTo = (hear: (line: string) => void): LineReader =>
  new LineReader((line) => line.trim() !== "" && hear(line.trimEnd()), { maxBytes: 65_536 });
