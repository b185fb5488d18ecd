import { opening } from "../../../agents/codex/block.js";
import type { CodexFiles } from "../../../agents/codex/files.js";
import { reachOf } from "../../../agents/codex/permissions.js";
import { judgeBefore } from "../../../agents/codex/preflight.js";
import { type CodexType, codexTypeOf, inPlaces, type Runtime } from "../../../agents/codex/runtime.js";
import { settingIn } from "../../../agents/codex/settings.js";
import type { CodexSight } from "../../../agents/codex/sight.js";
import type { Check } from "../../../agents/doctor/check.js";
import type { Seen } from "../../../agents/proof/seen.js";
import { render } from "../../../agents/rendering.js";
import { type Answers, type Subject, subjectOf } from "../../../agents/subject.js";
import { inOneShell } from "../../../remote/one-shell.js";
import type { Shell } from "../../../remote/process.js";
import type { AgentRecord } from "../../../state/agent.js";
import { type Agent, instanceOf } from "../../../state/agents.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { answersFor } from "../answers.js";
import { apiKeyOf } from "../api-key.js";
import { mustBeOurs, type Plan, planFor, standingFor } from "../configure/on-host.js";
import { orLoss } from "../configure/unmendable.js";
import { mustBeInstalled } from "../gates.js";
import { observe } from "../observe.js";
import { mustBeConfigured } from "../put-on-host.js";
import { gone, newSalt } from "../rendered.js";
import { targetOf } from "../target.js";
import { lookAtCodex } from "./look.js";

/** An agent whose turns are Codex', or may become so, and how it was seen on its host. */
export interface Scene {
  session: Session;
  agent: Agent;
  /** As it is recorded. */
  subject: Subject;
  type: CodexType;
  root: Shell;
  seen: Seen;
  salt: string;
}

/** Looks at the agent in one exec. With all that Codex could be told of it: what it is to be told is decided later. */
export async function sceneOf(session: Session, word: string, where?: keyof CodexType["homes"]): Promise<Scene> {
  hideSecrets(session);
  const { agent, subject } = await targetOf(session, word);
  mustBeInstalled(agent);
  mustBeConfigured(agent);
  const type = subject.manifest.codex ?? codexTypeOf(subject);
  const { key } = apiKeyOf(session, { instance: instanceOf(agent), name: subject.manifest.api.secret });
  const root = await inOneShell((await session.pool.connect(agent.host)).as("root"));
  const salt = newSalt();
  const home = where && { home: inPlaces(subject, type.homes[where]) };
  const whole = { ...runtimeOf(subject, type), ...home, kind: "codex" as const, mirror: true };
  const as = { ...subject, runtime: whole };
  const seen = await observe(root, subject, key, { rendered: { salt, as } }, session.signal);
  if (!seen.account) throw gone(agent, subject);
  mustBeOurs(subject, seen, agent.record.mark);
  return { session, agent, subject, type, root, seen, salt };
}

/** What was recorded, or how it is before anybody said anything. */
export const runtimeOf = (subject: Subject, { homes }: CodexType): Runtime =>
  subject.runtime ?? {
    ...{ kind: "auto", home: inPlaces(subject, homes.shared), permissions: ":workspace", mirror: false, plugins: [] },
  };

/** Who runs its turns by its config.yaml on the host; nothing when that says nothing. */
export function runtimeSettingIn({ seen, type }: Scene): string | undefined {
  const model = settingIn(seen.config, "model");
  const setting = model instanceof Map ? model.get(type.key) : undefined;
  return setting && "text" in setting ? setting.text : undefined;
}

export interface Wanted {
  record: AgentRecord;
  subject: Subject;
  answers: Answers;
  provider: string;
}

/** What an agent is to be, with everything that can be refused refused. */
export async function wantedBy({ session, agent, subject }: Scene, record: AgentRecord): Promise<Wanted> {
  const wished = subjectOf(subject.manifest, { ...agent, record });
  const answers = await answersFor(session, wished, record);
  // Whether that one can serve Codex is for the checks to say.
  const { runtime: _, ...itself } = wished;
  const model = render(itself, answers).config.model as { provider?: unknown } | undefined;
  return { record, subject: wished, answers, provider: String(model?.provider ?? "nobody") };
}

/** What would be done on the host, by what was seen there. */
export const planIn = ({ agent, seen, salt }: Scene, { record, subject, answers }: Wanted): Plan =>
  planFor(agent, { manifest: subject.manifest, record, answers }, { seen, salt, standing: standingFor(record) });

/** Codex before anything is changed, in the unit that the agent will have. */
export async function codexBefore(
  scene: Scene,
  wanted: Wanted,
  { thread }: { thread: boolean },
): Promise<{ sight: CodexSight; checks: Check[] }> {
  const { session, agent, type, seen } = scene;
  const { subject, provider } = wanted;
  const plan = orLoss(() => planIn(scene, wanted));
  const codex = "codex" in plan ? plan.codex : undefined;
  // The user's own counts before the one that is wished.
  const permissions = codex?.migrated.permissions ?? subject.runtime?.permissions ?? "";
  const reach = reachOf(permissions);
  const migrated = seen.texts.codex_config?.text?.includes(opening) ?? false;
  const sight = await lookAtCodex(
    session,
    { agent, subject },
    {
      ...{ server: true, still: true },
      thread: thread && secondsFor(codex),
      sandbox: reach === "everything" ? false : reach === "read" ? "read" : "write",
    },
  );
  return { sight, checks: judgeBefore({ subject, type, provider, permissions, migrated, sight }) };
}

/** Seconds that MCP servers have to get ready: more when somebody gave one of them more. */
export const secondsFor = (codex: CodexFiles | undefined): number =>
  Math.min(600, Math.max(60, codex?.migrated.patience ?? 0));
