import { Readable } from "node:stream";
import { fillPaths, type RuntimeType } from "../../../agents/plan/runtime.js";
import { Fault } from "../../../errors.js";
import { dir } from "../../../remote/operations/operation.js";
import type { Secret } from "../../../secret.js";
import { type Agent, agentId, findAgent, hostAndName } from "../../../state/agents.js";
import { LineReader } from "../../../text/line-reader.js";
import { flow } from "../../flow.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { codeOf, execIn } from "../exec/exec.js";
import { leashOn } from "../exec/leash.js";
import { targetOf } from "../target.js";
import { probeRuntime } from "./probe.js";
import { enableCommand, runtimeTarget } from "./runtime-target.js";

export interface LoginResult {
  agent: Agent;
  name: string;
  title: string;
  /** As the program describes it; absent when it is not logged in. */
  program?: string | undefined;
  /** The program needs no login: its model provider is the user's own. */
  needless: boolean;
  agentLogin: boolean;
  /** The runtime's name, and `agent`. */
  done: string[];
}

export interface LoginOptions {
  home?: keyof RuntimeType["homes"] | undefined;
  /** Instead of an interactive login. */
  apiKey?: Secret | undefined;
  /** Output of the programs, with the code and the address to open. */
  onLine: (line: string) => void;
}

export const loginRuntime = (session: Session, ref: string, options: LoginOptions): Promise<LoginResult> =>
  withLockedAgent(session, ref, async (found) => {
    const target = await runtimeTarget(session, hostAndName(found), { home: options.home });
    const { agent, type, runtime, name, root } = target;
    const { title } = type;
    const before = runtime.recordOf(target.resolved, type);
    const home = options.home ? fillPaths(target.resolved, type.homes[options.home]) : before.home;
    const resolved = { ...target.resolved, runtime: { ...before, home, kind: name } };
    const command = runtime.probe(resolved, type, undefined, { purpose: "inspect", session: false });
    const inspect = () => probeRuntime(target, { agent, resolved }, command);
    const report = await inspect();
    if (!report.version) {
      throw new Fault("not-ready", `there is no ${title} that works for ${agentId(agent)}`, {
        why: report.broken ?? `there is no ${type.program} on the PATH of its service`,
        next: enableCommand(name, agent, `--install-${name}`),
      });
    }
    const first = runtime.loginState(report);
    const { apiKey } = options;
    const programs = [
      ...(apiKey || (!first.program && first.needed)
        ? [{ login: name, title, words: runtime.loginWords(resolved, type, apiKey ? "api-key" : "person") }]
        : []),
      ...(first.agent || apiKey
        ? []
        : [{ login: "agent", title: resolved.manifest.title, words: [resolved.paths.launcher, ...type.agent_login] }]),
    ];
    const action = {
      verb: "agent runtime login",
      target: hostAndName(agent),
      summary: `log ${agentId(agent)} in for ${title}`,
    };
    const last = await flow(session, action, async ({ change, prove }) => {
      // The program does not create a directory of its own.
      await change("make the directory of its settings", {
        root,
        operations: [dir(home, { owner: resolved.user, mode: 0o700 })],
      });
      for (const program of programs) {
        await change(`log ${program.title} in`, () => runLogin(session, agent, program, options));
      }
      return prove("check the logins", async () => runtime.loginState(await inspect()));
    });
    const state = last ?? first;
    return {
      agent: findAgent(session.hosts.read(), hostAndName(agent)),
      name,
      title,
      program: state.program,
      needless: !state.needed,
      agentLogin: state.agent,
      done: last ? programs.map(({ login }) => login) : [],
    };
  });

/** For a program that prompts a person, or reads an API key on stdin. */
async function runLogin(
  session: Session,
  agent: Agent,
  { title, words }: { title: string; words: string[] },
  { apiKey, onLine }: LoginOptions,
): Promise<void> {
  const target = await targetOf(session, hostAndName(agent));
  const leash = await leashOn(session, await session.pool.connect(agent.host), [target]);
  let how: "done" | "stop" = "stop";
  // Whole lines: half of one may be half of a secret.
  const reader = () => new LineReader((line) => line.trim() !== "" && onLine(line.trimEnd()), { maxBytes: 65_536 });
  const lines = { stdout: reader(), stderr: reader() };
  try {
    const exit = await execIn(session, target, leash, {
      command: words,
      ...(apiKey && { input: Readable.from([Buffer.from(`${apiKey.reveal()}\n`)]) }),
      onOutput: (_, stream, bytes) => lines[stream].push(bytes),
    });
    how = "done";
    for (const each of Object.values(lines)) each.end();
    if (codeOf(exit) === 0) return;
    throw new Fault("remote-failed", `${title} did not log in on ${agent.host.name}: it ended with ${codeOf(exit)}`, {
      why: "its output is above",
      next: `clm agent shell ${agent.ref}`,
    });
  } finally {
    await leash.end(how);
  }
}
