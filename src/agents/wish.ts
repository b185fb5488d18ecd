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
} from "../remote/operations/operation.js";
import { fill } from "../render/template.js";
import type { Secret } from "../secret.js";
import { mergeConfig } from "./config-file.js";
import { dotenvFile } from "./env-file.js";
import { accountComment } from "./mark.js";
import { privatePlaces } from "./private-places.js";
import type { Subject } from "./subject.js";
import { unitFile } from "./unit-file.js";
import { inRange, plainVersion } from "./versions.js";

/** The account and what must be there before the installer: it leaves alone the files it finds, and brings its own else. */
export function accountWish(subject: Subject, mark: string): Operation[] {
  const { user: owner, places } = subject;
  const seed = { owner, mode: 0o600, seed: true };
  return [
    ...userWish(subject, mark),
    ...directoriesWish(subject),
    file(places.env, { ...seed, content: dotenvFile(new Map()) }),
    file(places.config, { ...seed, content: mergeConfig(undefined, { config: {}, paths: [] }, []) }),
  ];
}

/** The account that nobody can log in to. One that was taken over has no mark, and may be a person's. */
export const userWish = ({ user: name, places }: Subject, mark: string | undefined): Operation[] =>
  mark === undefined
    ? []
    : [user({ name, home: places.home, shell: "/usr/sbin/nologin", locked: true, comment: accountComment(mark) })];

/** The directories that are the agent's alone. */
export const directoriesWish = (subject: Subject): Operation[] =>
  privatePlaces(subject)
    .filter(({ kind }) => kind === "directory")
    .map(({ path, mode }) => dir(path, { owner: subject.user, mode }));

/** The installer's job on a host: long work that outlives our connection, and us. */
export const installerJob = (agent: string): string => `install-${agent}`;

/** The installer at work, as the agent's own user. Which version it is about is seen in its words, so another is another job. */
export function installerWish(
  { manifest, version, release, name, user: as, places }: Subject,
  installerPath: string,
): JobOperation {
  const { path, ...named } = places;
  const values = { ...named, version: plainVersion(version), ...(release.commit && { commit: release.commit }) };
  const parts = manifest.install.arguments.filter(({ when }) => inRange(version, when));
  // A part that names a value this release has not is left out as a whole: a flag alone would take the next one's word.
  const args = parts.flatMap(({ args }) => {
    const filled = args.map((arg) => fill(arg, values));
    return filled.every((arg) => arg !== undefined) ? filled : [];
  });
  return job({
    name: installerJob(name),
    argv: ["bash", installerPath, ...args],
    as,
    cwd: places.home,
    timeout: manifest.install.timeout,
    env: { HOME: places.home, USER: as, LOGNAME: as, HERMES_HOME: places.data },
  });
}

/** The unit as it should stand on the host, not to be started by anything but clm until the agent is ready. */
export const unitWish = (subject: Subject, systemd: number): UnitOperation =>
  unit(subject.unit, { content: unitFile(subject, systemd), enabled: false });

/** What a rendering puts on the host. The unit reads both when it starts. */
export function filesWish({ user: owner, places, unit: restarts }: Subject, env: Secret, config: string): Operation[] {
  return [
    file(places.env, { owner, mode: 0o600, content: env, secret: true, restarts }),
    file(places.config, { owner, mode: 0o600, content: config, restarts }),
  ];
}

/** The host as it was before the agent. */
export const goneWish = ({ unit: name, user: account }: Pick<Subject, "unit" | "user">): Operation[] => [
  absent({ unit: name }),
  absent({ user: account }),
];
