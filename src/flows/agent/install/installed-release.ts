import { accountComment } from "../../../agents/plan/owner-tag.js";
import type { ResolvedAgent } from "../../../agents/plan/resolved-agent.js";
import { saysVersion, versionLine } from "../../../agents/probe/version-line.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { Shell } from "../../../remote/process.js";
import { run } from "../../../remote/run.js";
import type { AgentRecord } from "../../../state/agent.js";
import type { Agent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { commandInSandbox } from "../as-agent.js";
import type { Preflight } from "../preflight/preflight.js";
import { type Release, seeRelease } from "../preflight/preflight-probe.js";
import { agentIn, type Plan, subjectIn, travellerOf } from "./install-plan.js";

/** Whether the pinned version is installed. A missing answer may be a busy host's, so it is read again before the installer is run. */
export async function saysItIsThere({ signal }: Session, plan: Plan, { root, seen }: Preflight): Promise<boolean> {
  const resolved = subjectIn(plan, plan.draft);
  if (saysVersion(resolved, seen.version ?? "")) return true;
  return saysVersion(resolved, (await seeRelease(root, travellerOf(plan).sight, signal)).version);
}

/** The installer replaces the programs that a running agent is made of. */
export function mustNotRun(plan: Plan, { seen }: Preflight): void {
  if (["inactive", "failed"].includes(seen.state)) return;
  const agent = agentIn(plan, plan.draft);
  throw new Fault("in-use", `${agent.name} runs on ${plan.host.name}, and its installer would have to run again`, {
    why: `${agent.record.unit} is ${seen.state}; nothing was changed`,
    next: `clm agent stop ${agent.ref}`,
  });
}

/**
 * An installer may end well and leave no program, or another one than was pinned: its files must say the version, its checkout must be at
 * the pinned commit, and the program must run. It is run once, in the sandbox of its service.
 */
export async function mustBeInstalled(
  session: Session,
  plan: Plan,
  { root }: Preflight,
  record: AgentRecord,
): Promise<void> {
  const { sight } = travellerOf(plan);
  const resolved = subjectIn(plan, record);
  const comment = accountComment(plan.draft.mark);
  const release = await seeRelease(root, { ...sight, resolved, comment }, session.signal);
  const wrong =
    objectionTo(resolved, release) ??
    objectionTo(resolved, { ...release, version: await firstLine(session, root, agentIn(plan, record), resolved) });
  if (wrong) throw new Fault(wrong.fault, wrong.message, { why: wrong.why, next: sh`clm ${session.argv}` });
}

/** Why what was installed is not what was pinned. */
function objectionTo(
  resolved: ResolvedAgent,
  { version, commit }: Release,
): { fault: "remote-failed" | "integrity"; message: string; why: string[] } | undefined {
  const { launcher, code } = resolved.paths;
  if (version === "") {
    const message = `the installer ended well but left no ${launcher} that works`;
    return { fault: "remote-failed", message, why: [] };
  }
  const message = "what was installed is not what was pinned";
  if (!saysVersion(resolved, version)) {
    return { fault: "integrity", message, why: [`it says '${version}'`, `it should say '${versionLine(resolved)}'`] };
  }
  const pinned = resolved.release.commit;
  if (pinned === undefined || commit === pinned) return undefined;
  const why = [commit ? `${code} is at commit ${commit}` : `${code} is at no commit`, `${pinned} was pinned`];
  return { fault: "integrity", message, why };
}

/** Seconds: it may wait ten for its upstream, and a machine may be slow. */
const timeout = 90;

/** What the program says first; empty when it does not run. */
async function firstLine({ signal, ui }: Session, root: Shell, agent: Agent, resolved: ResolvedAgent): Promise<string> {
  const words = [resolved.paths.launcher, ...resolved.manifest.version.args];
  const script = '"$@" | head -c 2000';
  const command = commandInSandbox(agent, resolved, { script, words, seconds: timeout });
  const { stdout } = await run(root, command, { timeout: (timeout + 10) * 1000, signal });
  return ui.redact(
    stdout
      .split("\n")[0]
      ?.replace(/\p{Cc}/gu, " ")
      .slice(0, 200) ?? "",
  );
}
