import { Readable } from "node:stream";
import type { LoginState } from "../../../agents/agent-runtime.js";
import { Fault } from "../../../errors.js";
import { dir } from "../../../remote/operations/operation.js";
import type { Secret } from "../../../secret.js";
import { type Agent, agentId, findAgent, hostAndName } from "../../../state/agents.js";
import { LineReader } from "../../../text/line-reader.js";
import { flow } from "../../flow.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { codeOf, execOnLeash } from "../exec/exec.js";
import { probeRuntime } from "./probe.js";
import { enableCommand, type RuntimeChoice, type RuntimeTarget, recordFor, runtimeTarget } from "./runtime-target.js";

export interface LoginResult {
  agent: Agent;
  name: string;
  title: string;
  state: LoginState;
  /** The runtime's name, and `agent`. */
  done: string[];
}

export interface LoginOptions {
  home?: RuntimeChoice["home"];
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
    const record = recordFor(target, name, options.home);
    const resolved = { ...target.resolved, runtime: record };
    const command = runtime.probe(resolved, type, undefined, "login");
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
    const summary = `log ${agentId(agent)} in for ${title}`;
    const action = { verb: "agent runtime login", target: hostAndName(agent), summary };
    const last = await flow(session, action, async ({ change, prove }) => {
      // The program does not create a directory of its own.
      const operations = [dir(record.home, { owner: resolved.user, mode: 0o700 })];
      await change("make the directory of its settings", { root, operations });
      for (const program of programs) {
        await change(`log ${program.title} in`, () => runLogin(target, program, options));
      }
      return prove("check the logins", async () => runtime.loginState(await inspect()));
    });
    return {
      agent: findAgent(session.hosts.read(), hostAndName(agent)),
      name,
      title,
      state: last ?? first,
      done: last ? programs.map(({ login }) => login) : [],
    };
  });

/** For a program that prompts a person, or reads an API key on stdin. */
async function runLogin(
  target: RuntimeTarget,
  { title, words }: { title: string; words: string[] },
  { apiKey, onLine }: LoginOptions,
): Promise<void> {
  const { agent } = target;
  // Whole lines: half of one may be half of a secret.
  const reader = () => new LineReader((line) => line.trim() !== "" && onLine(line.trimEnd()), { maxBytes: 65_536 });
  const lines = { stdout: reader(), stderr: reader() };
  const exit = await execOnLeash(target.session, target, {
    command: words,
    ...(apiKey && { input: Readable.from([Buffer.from(`${apiKey.reveal()}\n`)]) }),
    onOutput: (_, stream, bytes) => lines[stream].push(bytes),
  });
  for (const each of Object.values(lines)) each.end();
  if (codeOf(exit) === 0) return;
  throw new Fault("remote-failed", `${title} did not log in on ${agent.host.name}: it ended with ${codeOf(exit)}`, {
    why: "its output is above",
    next: `clm agent shell ${agent.ref}`,
  });
}
