import {
  absent,
  dir,
  file,
  type JobOperation,
  job,
  type Operation,
  type UnitOperation,
  unit,
  user,
} from "../../remote/operations/operation.js";
import { dotenvFile } from "../files/env-file.js";
import { fill } from "../files/template.js";
import { mergeConfig } from "../files/yaml-merge.js";
import { inRange, plainVersion } from "../manifest/versions.js";
import { accountEnvironment } from "./environment.js";
import { accountComment } from "./owner-tag.js";
import { privatePaths } from "./private-paths.js";
import { namedPaths, type ResolvedAgent } from "./resolved-agent.js";
import { unitFile } from "./unit-file.js";

/** The account and what must be there before the installer: it leaves alone the files it finds, and brings its own else. */
export function accountOperations(resolved: ResolvedAgent, mark: string): Operation[] {
  const { user: owner, paths } = resolved;
  const seed = { owner, mode: 0o600, seed: true };
  return [
    ...userOperations(resolved, mark),
    ...directoryOperations(resolved),
    file(paths.env, { ...seed, content: dotenvFile(new Map()) }),
    ...(paths.config ? [file(paths.config, { ...seed, content: mergeConfig(undefined, {}, []) })] : []),
  ];
}

/** The account that nobody can log in to. One that was taken over has no mark, and may be a person's. */
export const userOperations = ({ user: name, paths }: ResolvedAgent, mark: string | undefined): Operation[] =>
  mark === undefined
    ? []
    : [user({ name, home: paths.home, shell: "/usr/sbin/nologin", locked: true, comment: accountComment(mark) })];

/** The directories that are the agent's alone. */
export const directoryOperations = (resolved: ResolvedAgent): Operation[] =>
  privatePaths(resolved)
    .filter(({ kind }) => kind === "directory")
    .map(({ path, mode }) => dir(path, { owner: resolved.user, mode }));

/** The installer's job on a host: long work that outlives our connection, and us. */
export const installerJob = (agent: string): string => `install-${agent}`;

/** The installer at work, as the agent's own user. Which version it is about is seen in its words, so another is another job. */
export function installerOperation(agent: ResolvedAgent, installerPath: string): JobOperation {
  const { manifest, version, release, name, user: as, paths } = agent;
  const { install } = manifest;
  if (!install) throw new Error(`${manifest.type} has an installer and no install section`);
  const values = {
    ...namedPaths(paths),
    version: plainVersion(version),
    ...(release.commit && { commit: release.commit }),
  };
  const parts = install.arguments.filter(({ when }) => inRange(version, when));
  // A part that names a value this release has not is left out as a whole: a flag alone would take the next one's word.
  const args = parts.flatMap(({ args }) => {
    const filled = args.map((arg) => fill(arg, values));
    return filled.every((arg) => arg !== undefined) ? filled : [];
  });
  return job({
    name: installerJob(name),
    argv: ["bash", installerPath, ...args],
    as,
    cwd: paths.home,
    timeout: install.timeout,
    env: accountEnvironment(agent),
  });
}

/** The unit as it should stand on the host, not to be started by anything but clm until the agent is ready. */
export const unitOperation = (resolved: ResolvedAgent, systemd: number): UnitOperation =>
  unit(resolved.unit, { content: unitFile(resolved, systemd), enabled: false });

/** The host as it was before the agent. */
export const removalOperations = ({ unit: name, user: account }: Pick<ResolvedAgent, "unit" | "user">): Operation[] => [
  absent({ unit: name }),
  absent({ user: account }),
];
