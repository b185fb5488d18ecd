import { type Change, changedPath, changesOf } from "../../../agents/plan/change.js";
import { shownDiff } from "../../../agents/plan/shown-diff.js";
import { absent, file } from "../../../remote/operations/operation.js";
import { ownedNames } from "../../../state/agent.js";
import { agentId, hostAndName } from "../../../state/agents.js";
import { flow, type Phases } from "../../flow.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { applyIn } from "../apply.js";
import type { Desired } from "../desire.js";
import { mustHold } from "../preconditions.js";
import { prepare } from "../prepare.js";
import {
  desireFor,
  mustNotBeStopped,
  planIn,
  preview,
  type RuntimeTarget,
  recordFor,
  runtimeTarget,
  type SwitchResult,
  settingOf,
} from "./runtime-target.js";

export interface AutoOptions {
  clean: boolean;
  skipChat: boolean;
}

export interface AutoResult extends SwitchResult {
  /** It ran on another runtime, or was set to. */
  switched: boolean;
}

/** The runtime's files stay, unless they are to be cleaned. */
export const returnToAuto = (session: Session, ref: string, { clean, skipChat }: AutoOptions): Promise<AutoResult> =>
  withLockedAgent(session, ref, async (found) => {
    const full = hostAndName(found);
    const target = await runtimeTarget(session, full);
    const { agent, type } = target;
    const { title } = type;
    // Before anything changes: a file that cannot be cleaned is a fault.
    const { notes } = clean ? cleaned(target) : { notes: [] };
    const desired = await desiredAuto(target);
    const prepared =
      desired && !session.gate.dryRun
        ? await prepare(session, agent, desired, { serviceState: "as-recorded", keepForeign: true })
        : undefined;

    const summary = clean ? `remove what clm wrote to ${title}' files` : `configure ${agent.name}`;
    const action = { verb: "agent runtime", target: full, summary: `${summary} on ${agent.host.name}` };
    const { record, changes, proofs, files } = await flow(session, action, async (phases) => {
      const previewed = desired && !prepared ? await preview(target, planIn(target, desired)) : [];
      const applied = prepared
        ? await applyIn(phases, session, prepared, { skipChat, reportRuntime: false })
        : { record: agent.record, changes: previewed, proofs: [] };
      // Also for an agent that does not answer. Observed again: the runtime may have written meanwhile.
      const files = clean ? await cleanFiles(phases, prepared ? await runtimeTarget(session, full) : target) : [];
      return { ...applied, files };
    });
    mustHold(proofs, `${agentId(agent)} does not answer as it should`);
    const switched = changes.length > 0;
    return { agent: { ...agent, record }, title, switched, changes: [...changes, ...files], proofs, notes };
  });

/** Undefined when neither clm nor the agent set it up now. An earlier setup may have left something in the files. */
async function desiredAuto(target: RuntimeTarget): Promise<Desired | undefined> {
  const { agent, type } = target;
  if (!agent.record.runtime && settingOf(target) !== type.setting) return undefined;
  mustNotBeStopped(agent);
  return desireFor(target, { ...agent.record, runtime: recordFor(target, "auto") });
}

const cleaned = ({ agent, resolved, type, runtime, observation }: RuntimeTarget) =>
  runtime.cleaned(resolved, type, ownedNames(agent.record), observation.texts);

async function cleanFiles({ change }: Phases, target: RuntimeTarget): Promise<Change[]> {
  const { session, root, resolved, salt, type } = target;
  const { files } = cleaned(target);
  const operations = files.map(({ path, text }) =>
    text === undefined ? absent({ path }) : file(path, { owner: resolved.user, mode: 0o600, content: text }),
  );
  const report = await change(`clean ${type.title}' files`, { root, operations });
  const secrets = hideSecrets(session);
  // A dry run shows them line by line.
  return changesOf(report).map((each) => {
    const one = files.find(({ path }) => each[changedPath] === path);
    return one ? { ...each, details: shownDiff(one.before ?? "", one.text ?? "", { salt, secrets }) } : each;
  });
}
