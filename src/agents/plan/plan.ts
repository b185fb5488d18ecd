import { isFault } from "../../errors.js";
import { quote } from "../../quote.js";
import type { Operation, UnitOperation } from "../../remote/operations/operation.js";
import type { Secret } from "../../secret.js";
import type { AgentRecord } from "../../state/agent.js";
import type { Agent } from "../../state/agents.js";
import { dotenvFile } from "../files/env-file.js";
import { mergeConfig } from "../files/yaml-merge.js";
import { type CodexFiles, codexFiles, codexWish, type Sources } from "../hermes/codex/files.js";
import type { Observation } from "../probe/proof/observation.js";
import { proxyOperations } from "../proxy/unit.js";
import { withItsRights } from "./as-agent.js";
import type { DesiredState } from "./desired-state.js";
import type { Sides } from "./differences.js";
import { Unmendable } from "./manual-fix.js";
import { directoriesWish, filesWish, unitWish, userWish } from "./operations.js";
import { accountComment } from "./owner-tag.js";
import type { Rendering, ResolvedAgent } from "./resolved-agent.js";

export { changesIn } from "./differences.js";

/** What the unit should be: running and enabled, stopped and disabled, or as it is now. */
export type ServiceState = "up" | "down" | "as-is";

/** The recorded state: a stopped agent stays down, and one that is not ready is not started. */
export function recordedServiceState({ down, onboarding }: AgentRecord): ServiceState {
  if (down) return "down";
  return onboarding.state === "ready" ? "up" : "as-is";
}

export interface Plan extends Sides {
  wish: Operation[];
}

/**
 * Turns the desired state and an observation of the host into operations. Configure and sync apply them, diff and ps check
 * them: what diff prints is what sync would do.
 */
export function planFor(
  agent: Agent,
  { record, resolved, rendering }: DesiredState,
  { seen, salt, serviceState }: { seen: Observation; salt: string; serviceState: ServiceState },
): Plan {
  mustBeOurs(resolved, seen, record.mark);
  const files = filesFor(resolved, rendering, seen, agent.record.rendered?.config ?? []);
  const { config } = files;
  const codex = codexFor(resolved, { rendering, config, texts: seen.texts, former: agent.record.rendered?.codex });
  const sides = { resolved, rendering, ...files, ...(codex && { codex }), seen, salt };
  const wish = [
    ...userWish(resolved, record.mark),
    ...wishOf(sides, serviceState),
    ...proxyOperations(resolved, seen.systemd),
  ];
  return { ...sides, wish };
}

/** The two files an agent reads, as a rendering makes them of what is there. */
interface Files {
  env: Secret;
  config: string;
}

/** `before` are the paths of config.yaml that were ours: what is not rendered any more goes. */
function filesFor(resolved: ResolvedAgent, rendering: Rendering, seen: Observation, before: string[]): Files {
  const { manifest, host, paths } = resolved;
  // What could not be read may hold more than our part, which would be lost.
  if (seen.config === "" && seen.files.config?.startsWith("regular file:")) {
    throw new Unmendable(
      `file ${paths.config}`,
      "remote-failed",
      `${paths.config} on ${host} is there and cannot be read`,
      {
        why: "somebody else has it, or it is reached by a link",
        next: withItsRights(resolved, ["ls", "-la", paths.data]),
      },
    );
  }
  const dropped = before.filter((path) => !rendering.paths.includes(path));
  const env = dotenvFile(rendering.env);
  try {
    return { env, config: mergeConfig(seen.config || undefined, rendering, [...dropped, ...manifest.managed]) };
  } catch (error) {
    if (!isFault(error, "bad-input")) throw error;
    const away = withItsRights(resolved, ["mv", paths.config, `${paths.config}.broken`]);
    throw new Unmendable(`file ${paths.config}`, "bad-input", error.message, {
      ...{ why: error.why, next: away, data: error.data, cause: error },
    });
  }
}

/** Codex' own files, when it runs the agent's turns. The user's part of them must be such that it can be kept. */
function codexFor(resolved: ResolvedAgent, sources: Sources): CodexFiles | undefined {
  try {
    return codexFiles(resolved, sources);
  } catch (error) {
    if (!isFault(error, "bad-input") && !isFault(error, "remote-failed")) throw error;
    const { fault, message, why, next, data } = error;
    throw new Unmendable(`file ${resolved.runtime?.home}/config.toml`, fault, message, {
      why,
      next,
      data,
      cause: error,
    });
  }
}

/** An account without our mark is somebody else's, whatever its name: it is not touched, nor what is in its home. */
export function mustBeOurs({ user, host }: ResolvedAgent, { comment }: Observation, mark: string | undefined): void {
  if (mark === undefined || comment === undefined || comment === accountComment(mark)) return;
  throw new Unmendable(`user ${user}`, "conflict", `the account ${user} on ${host} is not the one clm made`, {
    why: `its comment should be '${accountComment(mark)}'`,
    next: `clm host exec ${host} --sudo -- usermod -c ${quote(accountComment(mark))} ${user}`,
  });
}

/** The directories before what is in them, and the files before the unit that reads them: it is restarted when one of them changes, and only then. */
function wishOf({ resolved, env, config, codex, seen }: Sides, serviceState: ServiceState): Operation[] {
  const service = serviceWish(unitWish(resolved, seen.systemd), seen, serviceState);
  const files = [...filesWish(resolved, env, config), ...(codex ? codexWish(resolved, codex) : [])];
  const restarting = service.state === "started" ? files : files.map(withoutRestart);
  return [...directoriesWish(resolved), ...restarting, service];
}

export const withoutRestart = (operation: Operation): Operation =>
  operation.kind === "file" ? (({ restarts: _, ...file }) => file)(operation) : operation;

function serviceWish(
  unit: UnitOperation,
  { unit: { ActiveState = "" } }: Observation,
  serviceState: ServiceState,
): UnitOperation {
  const { enabled: _, ...file } = unit;
  switch (serviceState) {
    case "up":
      return { ...file, enabled: true, state: "started" };
    case "down":
      return { ...file, enabled: false, state: "stopped" };
    case "as-is":
      // One that runs must not go on with what is not in its files any more.
      return ["active", "activating", "reloading"].includes(ActiveState) ? { ...file, state: "started" } : file;
  }
}
