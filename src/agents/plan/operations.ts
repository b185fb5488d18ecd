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
import { dotenvFile } from "../files/dotenv.js";
import { fill } from "../files/template.js";
import { mergeConfig } from "../files/yaml-merge.js";
import { inRange, plainVersion } from "../manifest/versions.js";
import { accountComment, accountEnvironment, privatePaths } from "./account.js";
import { proxyOf, proxyProviders } from "./proxy.js";
import { namedPaths, type ResolvedAgent } from "./resolved-agent.js";
import { proxyUnitFile, unitFile } from "./unit-file.js";

/** The account, and the files that must exist before the installer runs: it creates its own when they are missing. */
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

/** An account without login. An adopted agent has no mark, and its account may be a person's. */
export const userOperations = ({ user: name, paths }: ResolvedAgent, mark: string | undefined): Operation[] =>
  mark === undefined
    ? []
    : [user({ name, home: paths.home, shell: "/usr/sbin/nologin", locked: true, comment: accountComment(mark) })];

export const directoryOperations = (resolved: ResolvedAgent): Operation[] =>
  privatePaths(resolved)
    .filter(({ kind }) => kind === "directory")
    .map(({ path, mode }) => dir(path, { owner: resolved.user, mode }));

/** The name of the installer's job, which outlives the connection and clm. */
export const installerJob = (agent: string): string => `install-${agent}`;

/** Runs the installer as the agent's user. Its arguments name the version, so another version is another job. */
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
  // Arguments with a missing value are dropped as a group: a flag without its value would consume the next argument.
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

/** The agent's unit, disabled: until the agent is ready, only clm starts it. */
export const unitOperation = (resolved: ResolvedAgent, systemd: number): UnitOperation =>
  unit(resolved.unit, { content: unitFile(resolved, systemd), enabled: false });

/** The proxy's unit, running even while the agent is stopped: it needs only its login. None when the version has no proxy. */
export function proxyOperations(agent: ResolvedAgent, systemd: number): UnitOperation[] {
  const proxy = proxyOf(agent);
  const type = agent.manifest.proxy;
  if (!proxy || !type || !inRange(agent.version, type.when)) return [];
  if (!proxyProviders(agent, type).includes(proxy.provider)) return [];
  return [unit(proxy.unit, { content: proxyUnitFile(agent, proxy, type, systemd), enabled: true, state: "started" })];
}

export const removalOperations = ({ unit: name, user: account }: Pick<ResolvedAgent, "unit" | "user">): Operation[] => [
  absent({ unit: name }),
  absent({ user: account }),
];
