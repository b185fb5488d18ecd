import { titleOfPlugin } from "../../../agents/hermes/codex/block.js";
import { agentsId, configId } from "../../../agents/hermes/codex/files.js";
import type { Ours } from "../../../agents/hermes/codex/managed.js";
import { callback, unmigrate } from "../../../agents/hermes/codex/migration.js";
import { unmirrored } from "../../../agents/hermes/codex/mirror.js";
import { codexPlaces, runtimeSettings } from "../../../agents/hermes/codex/runtime.js";
import { settingIn } from "../../../agents/hermes/codex/settings.js";
import type { Change } from "../../../agents/plan/change.js";
import { textOf } from "../../../agents/plan/plan-files.js";
import { shownDiff } from "../../../agents/plan/shown-diff.js";
import type { Proof } from "../../../agents/probe/proof/proof.js";
import { absent, file } from "../../../remote/operations/operation.js";
import { ownedNames } from "../../../state/agent.js";
import { type Agent, agentId, hostAndName } from "../../../state/agents.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { withLockedAgent } from "../agent-lock.js";
import { apply } from "../apply.js";
import { bring } from "../bring.js";
import { mustNotDrop } from "../configure/objections.js";
import { mustHold } from "../preconditions.js";
import { prepare } from "../prepare.js";
import { mustNotBeStopped } from "./enable.js";
import { exactly } from "./exactly.js";
import { planIn, runtimeOf, runtimeSettingIn, type Scene, sceneOf, wantedBy } from "./scene.js";

export interface ReturnRequest {
  /** Also take what is ours out of Codex' files. */
  clean: boolean;
  skipChat: boolean;
}

export interface Returned {
  agent: Agent;
  /** It ran on Codex, or was to. */
  switched: boolean;
  changes: Change[];
  proofs: Proof[];
  /** What a person should know. */
  notes: string[];
}

const verb = "agent runtime";

/** Auto: the agent runs its turns itself again. What Codex was given stays, unless it is to be cleaned. */
export function returnToAuto(session: Session, word: string, request: ReturnRequest): Promise<Returned> {
  return withLockedAgent(session, word, (agent) => comeBack(session, hostAndName(agent), request));
}

async function comeBack(session: Session, word: string, { clean, skipChat }: ReturnRequest): Promise<Returned> {
  const scene = await sceneOf(session, word);
  const { agent, resolved, type } = scene;
  // Files that cannot be cleaned are told of before anything is changed.
  const { notes } = clean ? cleaned(scene) : { notes: [] };
  // Nobody asked for Codex, neither clm nor Hermes itself: but one of them may have, once, and left something in its files.
  if (!agent.record.runtime && runtimeSettingIn(scene) !== runtimeSettings.codex) {
    return { agent, switched: false, changes: clean ? await cleanFiles(scene) : [], proofs: [], notes };
  }
  mustNotBeStopped(agent);
  const draft = { ...agent.record, runtime: { ...runtimeOf(resolved, type), kind: "auto" as const } };
  const desired = await wantedBy(scene, draft);
  if (session.gate.dryRun) {
    const changes = await exactly(scene, planIn(scene, desired));
    const files = clean ? await cleanFiles(scene) : [];
    return { agent, switched: changes.length > 0, changes: [...changes, ...files], proofs: [], notes };
  }
  const prepared = await prepare(session, agent, desired, { serviceState: "as-recorded" });
  mustNotDrop(agent, prepared.plan, undefined);
  const { record, changes, proofs } = await apply(session, prepared, { verb, skipChat, tellRuntime: false });
  // Also of an agent that does not answer now: that is told all the same. Looked at anew, as Codex may have written meanwhile.
  const files = clean ? await cleanFiles(await sceneOf(session, word)) : [];
  mustHold(proofs, `${agentId(agent)} does not answer as it should`);
  const switched = changes.length > 0;
  return { agent: { ...agent, record }, switched, changes: [...changes, ...files], proofs, notes };
}

/** Takes what is ours out of Codex' files; in a dry run shows line by line what would go. */
async function cleanFiles(scene: Scene): Promise<Change[]> {
  const { session, agent, root, resolved, salt } = scene;
  const { files } = cleaned(scene);
  const action = {
    verb,
    target: hostAndName(agent),
    summary: `take what clm gave Codex out of its files on ${agent.host.name}`,
  };
  const wish = files.map(({ path, text }) =>
    text === undefined ? absent({ path }) : file(path, { owner: resolved.user, mode: 0o600, content: text }),
  );
  const changes = await bring(session, action, { root, wish, title: "clean Codex' files" });
  const secrets = hideSecrets(session);
  return changes.map((change) => {
    const one = files.find(({ path }) => change.what.endsWith(` ${path}`) || change.what === path);
    return one ? { ...change, details: shownDiff(one.before ?? "", one.text ?? "", { salt, secrets }) } : change;
  });
}

interface CodexFile {
  path: string;
  before: string | undefined;
  text: string | undefined;
}

/** Codex' files without what is ours, those of them that have something; one in which nothing else is left goes. */
function cleaned({ agent, resolved, type, seen }: Scene): { files: CodexFile[]; notes: string[] } {
  const paths = codexPlaces({ ...resolved, runtime: runtimeOf(resolved, type) });
  const servers = settingIn(seen.texts.config?.text ?? "", "mcp_servers");
  const plugins = resolved.runtime && new Set(resolved.runtime.plugins.map(titleOfPlugin));
  const former = ownedNames(agent.record)[configId];
  const ours: Ours = {
    server: (name) =>
      name === callback || former?.includes(name) === true || (servers instanceof Map && servers.has(name)),
    // What Hermes itself put there is recorded nowhere.
    plugin: (title) => plugins?.has(title) ?? true,
    whole: former !== undefined,
  };
  const config = textOf(resolved, paths.config, seen.texts[configId]);
  const agents = textOf(resolved, paths.agents, seen.texts[agentsId]);
  const { text, notes } = config === undefined ? { notes: [] } : unmigrate(config, ours);
  const told = agents === undefined ? undefined : unmirrored(agents);
  const files: CodexFile[] = [
    ...(text === config ? [] : [{ path: paths.config, before: config, text }]),
    ...(told === agents ? [] : [{ path: paths.agents, before: agents, text: told }]),
  ];
  return { files, notes };
}
