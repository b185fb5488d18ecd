import { accountComment } from "../../../agents/plan/account.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { saysVersion, versionLine } from "../../../agents/probe/version-line.js";
import { Fault } from "../../../errors.js";
import type { Shell } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import type { AgentRecord } from "../../../state/agent.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import type { ReadyHost } from "../preflight/preflight.js";
import { probeRelease, type Release } from "../preflight/preflight-probe.js";
import { commandInSandbox } from "../run-as-agent.js";
import { agentFrom, type InstallPlan, resolvedFrom } from "./install-plan.js";

/** Read twice before the installer runs: a busy host may not have answered. */
export async function isInstalled({ signal }: Session, ready: ReadyHost): Promise<boolean> {
  const { agent } = ready.installation;
  if (saysVersion(agent, ready.observation.version ?? "")) return true;
  return saysVersion(agent, (await probeRelease(ready.root, ready.installation, signal)).version);
}

/** The installer replaces the programs of the agent, which must not run meanwhile. */
export function mustBeStopped(plan: InstallPlan, { observation: { state } }: ReadyHost): void {
  if (["inactive", "failed"].includes(state)) return;
  const agent = agentFrom(plan, plan.draft);
  throw new Fault("in-use", `${agent.name} runs on ${plan.host.name}, and its installer would have to run again`, {
    why: `${agent.record.unit} is ${state}; nothing was changed`,
    next: `clm agent stop ${agent.ref}`,
  });
}

/** An installer may succeed and leave no program or another release, so its files and one sandboxed run are checked. */
export async function mustBePinnedRelease(
  session: Session,
  plan: InstallPlan,
  root: Shell,
  record: AgentRecord,
): Promise<void> {
  const resolved = resolvedFrom(plan, record);
  const account = { agent: resolved, comment: accountComment(plan.draft.mark) };
  const release = await probeRelease(root, account, session.signal);
  const wrong =
    objectionTo(resolved, release) ??
    objectionTo(resolved, { ...release, version: await firstLine(session, root, agentFrom(plan, record), resolved) });
  if (wrong) throw wrong;
}

function objectionTo(resolved: ResolvedAgent, { version, commit }: Release): Fault | undefined {
  const { launcher, code } = resolved.paths;
  if (version === "") return new Fault("remote-failed", `the installer succeeded but left no working ${launcher}`);
  const isNotPinned = (why: string[]) => new Fault("integrity", "the installed release is not the pinned one", { why });
  if (!saysVersion(resolved, version))
    return isNotPinned([`it reports version '${version}', expected '${versionLine(resolved)}'`]);
  const pinned = resolved.release.commit;
  if (pinned === undefined || commit === pinned) return undefined;
  return isNotPinned([commit ? `${code} is at commit ${commit}` : `${code} is at no commit`, `${pinned} was pinned`]);
}

/** Seconds: it may wait ten for its upstream, and a host may be slow. */
const timeout = 90;

/** The first line the program prints; empty when it does not run. */
async function firstLine({ signal, ui }: Session, root: Shell, agent: Agent, resolved: ResolvedAgent): Promise<string> {
  const words = [resolved.paths.launcher, ...(resolved.manifest.version?.args ?? [])];
  const command = commandInSandbox(agent, resolved, { script: '"$@" | head -c 2000', words, seconds: timeout });
  const { stdout } = await run(root, command, { timeout: (timeout + 10) * 1000, signal });
  const [line = ""] = stdout.split("\n");
  return ui.redact(line.replace(/\p{Cc}/gu, " ").slice(0, 200));
}
