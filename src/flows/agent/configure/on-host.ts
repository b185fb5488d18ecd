import { mergeConfig } from "../../../agents/config-file.js";
import { dotenvFile } from "../../../agents/env-file.js";
import type { Seen } from "../../../agents/proof/seen.js";
import type { Rendering, Subject } from "../../../agents/subject.js";
import { directoriesWish, filesWish, unitWish } from "../../../agents/wish.js";
import type { Operation } from "../../../remote/operations/operation.js";
import type { Secret } from "../../../secret.js";

export { changesIn } from "./differences.js";

/** The two files an agent reads, as a rendering makes them of what is there. */
interface Files {
  env: Secret;
  config: string;
}

/** `before` are the paths of config.yaml that were ours: what is not rendered any more goes. */
export function filesFor({ manifest }: Subject, rendering: Rendering, seen: Seen, before: string[]): Files {
  const dropped = before.filter((path) => !rendering.paths.includes(path));
  return {
    env: dotenvFile(rendering.env),
    config: mergeConfig(seen.config || undefined, rendering, [...dropped, ...manifest.managed]),
  };
}

/** The directories before what is in them, and the files before the unit that reads them: it is restarted when one of them changes, and only then. */
export function wishOf(
  { subject, env, config, seen }: Files & { subject: Subject; seen: Seen },
  { leaveDown }: { leaveDown?: boolean | undefined },
): Operation[] {
  const directories = directoriesWish(subject);
  const files = filesWish(subject, env, config);
  const service = unitWish(subject, seen.systemd);
  if (leaveDown) {
    const { enabled: _, ...file } = service;
    return [...directories, ...files, file];
  }
  const restarting = files.map((each) => (each.kind === "file" ? { ...each, restarts: subject.unit } : each));
  return [...directories, ...restarting, { ...service, enabled: true, state: "started" }];
}
