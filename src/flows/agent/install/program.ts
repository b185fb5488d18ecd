import { accountComment } from "../../../agents/mark.js";
import { saysVersion, versionLine } from "../../../agents/version-line.js";
import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { AgentRecord } from "../../../state/agent.js";
import { recordAgent } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { seeVersion } from "../preflight/seen.js";
import type { Preflight } from "../preflight.js";
import { agentIn, type Plan, subjectIn, travellerOf } from "./plan.js";

/** One answer that did not come may be a busy host's: it is asked again before the installer is believed to be needed. */
export async function saysItIsThere({ signal }: Session, plan: Plan, { root, seen }: Preflight): Promise<boolean> {
  const subject = subjectIn(plan, plan.draft);
  if (saysVersion(subject, seen.version ?? "")) return true;
  return saysVersion(subject, await seeVersion(root, travellerOf(plan).sight, signal));
}

/** The installer replaces the programs that a running agent is made of. */
export function mustNotRun(plan: Plan, { seen }: Preflight): void {
  if (["inactive", "failed"].includes(seen.state)) return;
  const agent = agentIn(plan, plan.draft);
  throw new Fault("in-use", `${agent.name} runs on ${plan.host.name}, and its installer would have to run again`, {
    why: `${agent.record.unit} is ${seen.state}; nothing was changed`,
    next: `clm agent stop ${agent.word}`,
  });
}

/** An installer may end well and leave no program, or another one than was pinned. */
export async function mustBeInstalled(
  session: Session,
  plan: Plan,
  { root }: Preflight,
  record: AgentRecord,
): Promise<void> {
  const { sight } = travellerOf(plan);
  const subject = subjectIn(plan, record);
  const comment = accountComment(plan.draft.mark);
  const says = await seeVersion(root, { ...sight, subject, comment }, session.signal);
  if (saysVersion(subject, says)) return;
  await recordAgent(session.hosts, { host: plan.host.name, name: plan.wish.name }, (now) => {
    if (!now) return now;
    const { installer, ...rest } = now;
    return rest;
  });
  const next = sh`clm ${session.argv}`;
  if (says === "") {
    throw new Fault("remote-failed", `the installer ended well but left no ${subject.places.launcher} that works`, {
      next,
    });
  }
  throw new Fault("integrity", `what was installed is not what was pinned`, {
    why: [`it says '${says}'`, `it should say '${versionLine(subject)}'`],
    next,
  });
}
