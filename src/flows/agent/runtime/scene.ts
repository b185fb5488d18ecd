import type { Check } from "../../../agents/check.js";
import { opening } from "../../../agents/hermes/codex/block.js";
import { agentsId, configId, migratedIn } from "../../../agents/hermes/codex/files.js";
import type { Migrated } from "../../../agents/hermes/codex/migration.js";
import { reachOf } from "../../../agents/hermes/codex/permissions.js";
import { judgeBefore } from "../../../agents/hermes/codex/preflight.js";
import {
  type CodexType,
  codexPlaces,
  codexTypeOf,
  inPlaces,
  type Runtime,
} from "../../../agents/hermes/codex/runtime.js";
import { settingIn } from "../../../agents/hermes/codex/settings.js";
import type { CodexSight } from "../../../agents/hermes/codex/sight.js";
import { render } from "../../../agents/hermes/rendering.js";
import { orManualFix } from "../../../agents/plan/manual-fix.js";
import { mustBeOurs, type Plan, planFor, recordedServiceState } from "../../../agents/plan/plan.js";
import { mustHavePath, type ResolvedAgent, resolvedAgent } from "../../../agents/plan/resolved-agent.js";
import type { Observation } from "../../../agents/probe/proof/observation.js";
import type { Shell } from "../../../remote/process.js";
import { sharedShell } from "../../../remote/shared-shell.js";
import type { AgentRecord } from "../../../state/agent.js";
import type { Agent } from "../../../state/agents.js";
import { hideSecrets } from "../../hide-secrets.js";
import type { Session } from "../../session.js";
import { apiKeyOf, keyPlace } from "../api-key.js";
import { mustBeConfigured } from "../apply-changed.js";
import { type Desired, desire } from "../desire.js";
import { observe } from "../observe.js";
import { mustBeInstalled } from "../preconditions.js";
import { mustHaveAccount, newSalt } from "../prepare.js";
import { targetOf } from "../target.js";
import { lookAtCodex } from "./look.js";

/** An agent whose turns are Codex', or may become so, and how it was seen on its host. */
export interface Scene {
  session: Session;
  agent: Agent;
  /** As it is recorded. */
  resolved: ResolvedAgent;
  type: CodexType;
  root: Shell;
  seen: Observation;
  salt: string;
}

/** Looks at the agent in one exec. With all that Codex could be told of it: what it is to be told is decided later. */
export async function sceneOf(session: Session, word: string, where?: keyof CodexType["homes"]): Promise<Scene> {
  hideSecrets(session);
  const { agent, resolved } = await targetOf(session, word);
  mustBeInstalled(agent);
  mustBeConfigured(agent);
  const type = resolved.manifest.runtimes.codex ?? codexTypeOf(resolved);
  const { key } = apiKeyOf(session, keyPlace(agent, resolved.manifest));
  const root = await sharedShell((await session.pool.connect(agent.host)).as("root"));
  const salt = newSalt();
  const home = where && { home: inPlaces(resolved, type.homes[where]) };
  const whole = { ...runtimeOf(resolved, type), ...home, kind: "codex" as const, mirror: true };
  const { config, agents, ...mind } = codexPlaces({ ...resolved, runtime: whole });
  const { env } = resolved.paths;
  const settings = mustHavePath(resolved, "config");
  const reads = { variables: env, texts: { config: settings, [configId]: config, [agentsId]: agents, ...mind } };
  const seen = await observe(root, resolved, key, { planned: { salt, reads } }, session.signal);
  mustHaveAccount(resolved, seen);
  mustBeOurs(resolved, seen, agent.record.mark);
  return { session, agent, resolved, type, root, seen, salt };
}

/** What was recorded, or how it is before anybody said anything. */
export const runtimeOf = (resolved: ResolvedAgent, { homes }: CodexType): Runtime =>
  resolved.runtime ?? {
    ...{ kind: "auto", home: inPlaces(resolved, homes.shared), permissions: ":workspace", mirror: false, plugins: [] },
  };

/** Who runs its turns by its config.yaml on the host; nothing when that says nothing. */
export function runtimeSettingIn({ seen, type }: Scene): string | undefined {
  const model = settingIn(seen.texts.config?.text ?? "", "model");
  const setting = model instanceof Map ? model.get(type.key) : undefined;
  return setting && "text" in setting ? setting.text : undefined;
}

export interface Wanted extends Desired {
  /** Who serves the model, as the agent itself calls it. */
  provider: string;
}

/** What an agent is to be, with everything that can be refused refused. */
export async function wantedBy({ session, agent, resolved }: Scene, record: AgentRecord): Promise<Wanted> {
  const desired = await desire(session, agent, { record });
  // Whether that one can serve Codex is for the checks to say.
  const { runtime: _, ...itself } = resolvedAgent(resolved.manifest, { ...agent, record });
  const model = render(itself, desired.answers).config.model as { provider?: unknown } | undefined;
  return { ...desired, provider: String(model?.provider ?? "nobody") };
}

/** What would be done on the host, by what was seen there. */
export const planIn = ({ seen, salt }: Scene, desired: Desired): Plan =>
  planFor(desired, seen, { salt, serviceState: recordedServiceState(desired.record) });

/** Codex before anything is changed, in the unit that the agent will have. */
export async function codexBefore(
  scene: Scene,
  wanted: Wanted,
  { thread }: { thread: boolean },
): Promise<{ sight: CodexSight; checks: Check[] }> {
  const { session, agent, type, seen } = scene;
  const { resolved, provider } = wanted;
  const plan = orManualFix(() => planIn(scene, wanted));
  const codex = "files" in plan ? migratedIn(plan) : undefined;
  // The user's own counts before the one that is wished.
  const permissions = codex?.permissions ?? resolved.runtime?.permissions ?? "";
  const reach = reachOf(permissions);
  const migrated = seen.texts[configId]?.text?.includes(opening) ?? false;
  const sight = await lookAtCodex(
    session,
    { agent, resolved },
    {
      ...{ server: true, still: true },
      thread: thread && secondsFor(codex),
      sandbox: reach === "everything" ? false : reach === "read" ? "read" : "write",
    },
  );
  return { sight, checks: judgeBefore({ resolved, type, provider, permissions, migrated, sight }) };
}

/** Seconds that MCP servers have to get ready: more when somebody gave one of them more. */
export const secondsFor = (codex: Migrated | undefined): number => Math.min(600, Math.max(60, codex?.timeout ?? 0));
