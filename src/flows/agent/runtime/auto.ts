import type { Change } from "../../../agents/plan/change.js";
import { changesOf } from "../../../agents/plan/change.js";
import { shownDiff } from "../../../agents/plan/shown-diff.js";
import type { Proof } from "../../../agents/probe/proof/proof.js";
import { absent, file } from "../../../remote/operations/operation.js";
import { ownedNames } from "../../../state/agent.js";
import { type Agent, agentId, hostAndName } from "../../../state/agents.js";
import { flow } from "../../flow.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { apply } from "../apply.js";
import { mustNotDrop } from "../foreign-variables.js";
import { mustHold } from "../preconditions.js";
import { prepare } from "../prepare.js";
import { mustNotBeStopped } from "./enable.js";
import { desireFor, planIn, preview, type RuntimeTarget, runtimeTarget, settingOf } from "./runtime-target.js";

export interface AutoOptions {
  clean: boolean;
  skipChat: boolean;
}

export interface AutoResult {
  agent: Agent;
  /** It ran on another runtime, or was set to. */
  switched: boolean;
  changes: Change[];
  proofs: Proof[];
  notes: string[];
  title: string;
}

const verb = "agent runtime";

/** The runtime's files stay, unless they are to be cleaned. */
export const returnToAuto = (session: Session, ref: string, options: AutoOptions): Promise<AutoResult> =>
  withLockedAgent(session, ref, async (found) => {
    const { clean, skipChat } = options;
    const target = await runtimeTarget(session, hostAndName(found));
    const { agent, resolved, runtime, type } = target;
    const { title } = type;
    // Before anything changes: a file that cannot be cleaned is a fault.
    const { notes } = clean ? cleaned(target) : { notes: [] };
    // Neither clm nor the agent set it up now, but an earlier setup may have left something in the files.
    if (!agent.record.runtime && settingOf(target) !== type.setting) {
      return { agent, title, switched: false, changes: clean ? await cleanFiles(target) : [], proofs: [], notes };
    }
    mustNotBeStopped(agent);
    const draft = { ...agent.record, runtime: { ...runtime.recordOf(resolved, type), kind: "auto" } };
    const desired = await desireFor(target, draft);
    if (session.gate.dryRun) {
      const changes = await preview(target, planIn(target, desired));
      const files = clean ? await cleanFiles(target) : [];
      return { agent, title, switched: changes.length > 0, changes: [...changes, ...files], proofs: [], notes };
    }
    const prepared = await prepare(session, agent, desired, { serviceState: "as-recorded" });
    mustNotDrop(agent, prepared.plan, undefined);
    const { record, changes, proofs } = await apply(session, prepared, { verb, skipChat, reportRuntime: false });
    // Also for an agent that does not answer. Observed again: the runtime may have written meanwhile.
    const files = clean ? await cleanFiles(await runtimeTarget(session, hostAndName(agent))) : [];
    mustHold(proofs, `${agentId(agent)} does not answer as it should`);
    const switched = changes.length > 0;
    return { agent: { ...agent, record }, title, switched, changes: [...changes, ...files], proofs, notes };
  });

const cleaned = ({ agent, resolved, type, runtime, observation }: RuntimeTarget) =>
  runtime.cleaned(resolved, type, ownedNames(agent.record)[runtime.fileIds[0] ?? ""], observation.texts);

/** A dry run shows the changes line by line. */
async function cleanFiles(target: RuntimeTarget): Promise<Change[]> {
  const { session, agent, root, resolved, salt, type } = target;
  const { files } = cleaned(target);
  const action = {
    verb,
    target: hostAndName(agent),
    summary: `remove what clm wrote to ${type.title}' files on ${agent.host.name}`,
  };
  const operations = files.map(({ path, text }) =>
    text === undefined ? absent({ path }) : file(path, { owner: resolved.user, mode: 0o600, content: text }),
  );
  const report = await flow(session, action, ({ change }) =>
    change(`clean ${type.title}' files`, { root, operations }),
  );
  const secrets = hideSecrets(session);
  return changesOf(report).map((change) => {
    const one = files.find(({ path }) => change.what.endsWith(` ${path}`) || change.what === path);
    return one ? { ...change, details: shownDiff(one.before ?? "", one.text ?? "", { salt, secrets }) } : change;
  });
}
