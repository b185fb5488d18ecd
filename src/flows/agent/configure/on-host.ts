import { type CodexFiles, codexFiles, codexWish, type Sources } from "../../../agents/codex/files.js";
import { mergeConfig } from "../../../agents/config-file.js";
import { dotenvFile } from "../../../agents/env-file.js";
import type { Manifest } from "../../../agents/manifest.js";
import { accountComment } from "../../../agents/mark.js";
import type { Seen } from "../../../agents/proof/seen.js";
import { proxyWish } from "../../../agents/proxy/wish.js";
import { render } from "../../../agents/rendering.js";
import { type Answers, type Rendering, type Subject, subjectOf } from "../../../agents/subject.js";
import { directoriesWish, filesWish, unitWish, userWish } from "../../../agents/wish.js";
import { withItsRights } from "../../../agents/with-its-rights.js";
import { isFault } from "../../../errors.js";
import { quote } from "../../../quote.js";
import type { Operation, UnitOperation } from "../../../remote/operations/operation.js";
import type { Secret } from "../../../secret.js";
import type { AgentRecord } from "../../../state/agent.js";
import type { Agent } from "../../../state/agents.js";
import type { Sides } from "./differences.js";
import { Unmendable } from "./unmendable.js";

export { changesIn } from "./differences.js";

/** How an agent should be, as far as this machine knows. */
export interface Wanted {
  manifest: Manifest;
  /** The record as it should be. */
  record: AgentRecord;
  answers: Answers;
}

/** What is to become of the unit: up, down and not to come up at boot, or as it is but for what it says. */
export type Standing = "up" | "down" | "as-is";

/** How it was recorded to be: what was stopped stays down, and nobody starts what has not been proven. */
export function standingFor({ down, onboarding }: AgentRecord): Standing {
  if (down) return "down";
  return onboarding.state === "ready" ? "up" : "as-is";
}

export interface Plan extends Sides {
  wish: Operation[];
}

/**
 * The one way from what was answered and what was seen to operations. Configure and sync apply them, diff looks at them: so
 * what one would change is what the other tells.
 */
export function planFor(
  agent: Agent,
  { manifest, record, answers }: Wanted,
  { seen, salt, standing }: { seen: Seen; salt: string; standing: Standing },
): Plan {
  const subject = subjectOf(manifest, { ...agent, record });
  mustBeOurs(subject, seen, record.mark);
  const rendering = render(subject, answers);
  const files = filesFor(subject, rendering, seen, agent.record.rendered?.config ?? []);
  const { config } = files;
  const codex = codexFor(subject, { rendering, config, texts: seen.texts, former: agent.record.rendered?.codex });
  const sides = { subject, rendering, ...files, ...(codex && { codex }), seen, salt };
  const wish = [...userWish(subject, record.mark), ...wishOf(sides, standing), ...proxyWish(subject, seen.systemd)];
  return { ...sides, wish };
}

/** The two files an agent reads, as a rendering makes them of what is there. */
interface Files {
  env: Secret;
  config: string;
}

/** `before` are the paths of config.yaml that were ours: what is not rendered any more goes. */
function filesFor(subject: Subject, rendering: Rendering, seen: Seen, before: string[]): Files {
  const { manifest, host, places } = subject;
  // What could not be read may hold more than our part, which would be lost.
  if (seen.config === "" && seen.files.config?.startsWith("regular file:")) {
    throw new Unmendable(
      `file ${places.config}`,
      "remote-failed",
      `${places.config} on ${host} is there and cannot be read`,
      {
        why: "somebody else has it, or it is reached by a link",
        next: withItsRights(subject, ["ls", "-la", places.data]),
      },
    );
  }
  const dropped = before.filter((path) => !rendering.paths.includes(path));
  const env = dotenvFile(rendering.env);
  try {
    return { env, config: mergeConfig(seen.config || undefined, rendering, [...dropped, ...manifest.managed]) };
  } catch (error) {
    if (!isFault(error, "bad-input")) throw error;
    const away = withItsRights(subject, ["mv", places.config, `${places.config}.broken`]);
    throw new Unmendable(`file ${places.config}`, "bad-input", error.message, {
      ...{ why: error.why, next: away, data: error.data, cause: error },
    });
  }
}

/** Codex' own files, when it runs the agent's turns. The user's part of them must be such that it can be kept. */
function codexFor(subject: Subject, sources: Sources): CodexFiles | undefined {
  try {
    return codexFiles(subject, sources);
  } catch (error) {
    if (!isFault(error, "bad-input") && !isFault(error, "remote-failed")) throw error;
    const { fault, message, why, next, data } = error;
    throw new Unmendable(`file ${subject.runtime?.home}/config.toml`, fault, message, {
      why,
      next,
      data,
      cause: error,
    });
  }
}

/** An account without our mark is somebody else's, whatever its name: it is not touched, nor what is in its home. */
export function mustBeOurs({ user, host }: Subject, { comment }: Seen, mark: string | undefined): void {
  if (mark === undefined || comment === undefined || comment === accountComment(mark)) return;
  throw new Unmendable(`user ${user}`, "conflict", `the account ${user} on ${host} is not the one clm made`, {
    why: `its comment should be '${accountComment(mark)}'`,
    next: `clm host exec ${host} --sudo -- usermod -c ${quote(accountComment(mark))} ${user}`,
  });
}

/** The directories before what is in them, and the files before the unit that reads them: it is restarted when one of them changes, and only then. */
function wishOf({ subject, env, config, codex, seen }: Sides, standing: Standing): Operation[] {
  const service = serviceWish(unitWish(subject, seen.systemd), seen, standing);
  const files = [...filesWish(subject, env, config), ...(codex ? codexWish(subject, codex) : [])];
  const restarting = service.state === "started" ? files : files.map(withoutRestart);
  return [...directoriesWish(subject), ...restarting, service];
}

export const withoutRestart = (operation: Operation): Operation =>
  operation.kind === "file" ? (({ restarts: _, ...file }) => file)(operation) : operation;

function serviceWish(unit: UnitOperation, { unit: { ActiveState = "" } }: Seen, standing: Standing): UnitOperation {
  const { enabled: _, ...file } = unit;
  switch (standing) {
    case "up":
      return { ...file, enabled: true, state: "started" };
    case "down":
      return { ...file, enabled: false, state: "stopped" };
    case "as-is":
      // One that runs must not go on with what is not in its files any more.
      return ["active", "activating", "reloading"].includes(ActiveState) ? { ...file, state: "started" } : file;
  }
}
