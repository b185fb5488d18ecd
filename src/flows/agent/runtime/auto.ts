import { unreadable } from "../../../agents/codex/files.js";
import { callback, unmigrate } from "../../../agents/codex/migration.js";
import { unmirrored } from "../../../agents/codex/mirror.js";
import { codexPlaces, runtimeSettings } from "../../../agents/codex/runtime.js";
import { settingIn } from "../../../agents/codex/settings.js";
import type { Proof } from "../../../agents/proof/proof.js";
import type { SeenText } from "../../../agents/proof/seen.js";
import { absent, file, type Operation } from "../../../remote/operations/operation.js";
import { type Agent, findAgent, fullName, titleOf } from "../../../state/agents.js";
import type { Session } from "../../session.js";
import { alone } from "../alone.js";
import { bring } from "../bring.js";
import type { Change } from "../change.js";
import { mustHold } from "../gates.js";
import { applyRendering } from "../rendered.js";
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
}

const verb = "agent runtime";

/** Auto: the agent runs its turns itself again. What Codex was given stays, unless it is to be cleaned. */
export function returnToAuto(session: Session, word: string, request: ReturnRequest): Promise<Returned> {
  const { host, name } = findAgent(session.hosts.read(), word);
  return alone(session, { host: host.name, name }, () => comeBack(session, `${host.name}/${name}`, request));
}

async function comeBack(session: Session, word: string, { clean, skipChat }: ReturnRequest): Promise<Returned> {
  const scene = await sceneOf(session, word);
  const { agent, subject, type } = scene;
  const deed = {
    verb,
    target: fullName(agent),
    summary: `take what clm gave Codex out of its files on ${agent.host.name}`,
  };
  const cleaning = (now: Scene) =>
    bring(session, deed, { root: now.root, wish: cleanWish(now), title: "clean Codex' files" });
  // Nobody asked for Codex, neither clm nor Hermes itself: but one of them may have, once, and left something in its files.
  if (!agent.record.runtime && runtimeSettingIn(scene) !== runtimeSettings.codex) {
    return { agent, switched: false, changes: clean ? await cleaning(scene) : [], proofs: [] };
  }
  mustNotBeStopped(agent);
  const draft = { ...agent.record, runtime: { ...runtimeOf(subject, type), kind: "auto" as const } };
  if (session.gate.dryRun) {
    const changes = await exactly(scene, planIn(scene, await wantedBy(scene, draft)));
    return { agent, switched: true, changes: [...changes, ...(clean ? await cleaning(scene) : [])], proofs: [] };
  }
  const { record, changes, proofs } = await applyRendering(session, agent, {
    ...{ verb, draft, skipChat, standing: "as-recorded" },
  });
  // Also of an agent that does not answer now: that is told all the same. Looked at anew, as Codex may have written meanwhile.
  const cleaned = clean ? await cleaning(await sceneOf(session, word)) : [];
  mustHold(proofs, `${titleOf(agent)} does not answer as it should`);
  const switched = changes.length > 0;
  return { agent: { ...agent, record }, switched, changes: [...changes, ...cleaned], proofs };
}

/** Codex' files without what is ours; one in which nothing else is left goes. */
function cleanWish({ subject, type, seen }: Scene): Operation[] {
  const { codex_config, codex_agents } = codexPlaces({ ...subject, runtime: runtimeOf(subject, type) });
  const servers = settingIn(seen.config, "mcp_servers");
  const isOurs = (name: string) => name === callback || (servers instanceof Map && servers.has(name));
  const cleaned = (
    path: string,
    before: SeenText | undefined,
    clean: (text: string) => string | undefined,
  ): Operation[] => {
    if (before?.there && before.text === undefined) throw unreadable(subject.host, path);
    if (before?.text === undefined) return [];
    const after = clean(before.text);
    if (after === before.text) return [];
    return [after === undefined ? absent({ path }) : file(path, { owner: subject.user, mode: 0o600, content: after })];
  };
  return [
    ...cleaned(codex_config, seen.texts.codex_config, (text) => unmigrate(text, isOurs)),
    ...cleaned(codex_agents, seen.texts.codex_agents, unmirrored),
  ];
}
