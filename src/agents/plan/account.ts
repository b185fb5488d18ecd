import { sh } from "../../quote.js";
import { fill } from "../files/template.js";
import { namedPaths, type ResolvedAgent } from "./resolved-agent.js";

export type Account = Pick<ResolvedAgent, "user" | "paths" | "manifest">;

/** The comment of an account that clm made. Accounts with any other comment are never touched. */
export const accountComment = (mark: string): string => `clm agent ${mark}`;

/** A command to type that runs as the agent's user. Never as root: a link in a directory of the agent may lead anywhere. */
export const asAgent = ({ host, user }: { host: string; user: string }, words: string[]): string =>
  sh`clm host exec ${host} --sudo -- runuser -u ${user} -- ${words}`;

const standardPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** The environment of an agent's processes, without the variables of `.env`. Nothing in it is secret. */
export const environmentOf = (agent: Account): Record<string, string> => ({
  ...accountEnvironment(agent),
  PATH: [...agent.paths.path, ...standardPath].join(":"),
});

/** Without PATH, for the installer. */
export function accountEnvironment({ user, paths, manifest }: Account): Record<string, string> {
  const named = namedPaths(paths);
  const own = Object.entries(manifest.unit.environment).map(([name, text]) => [name, fill(text, named) ?? ""]);
  return { HOME: paths.home, USER: user, LOGNAME: user, ...Object.fromEntries(own) };
}

const [directory, file] = [
  { kind: "directory", mode: 0o700 },
  { kind: "regular file", mode: 0o600 },
] as const;
const privateKinds = { home: directory, data: directory, memories: directory, env: file, config: file };

/** The paths that only the agent's user may access. Not the home of an adopted agent: it may be a person's. */
export const privatePaths = ({ paths, adopted }: Pick<ResolvedAgent, "paths" | "adopted">) =>
  (Object.keys(privateKinds) as (keyof typeof privateKinds)[]).flatMap((name) => {
    const path = adopted && name === "home" ? undefined : paths[name];
    return path === undefined ? [] : [{ name, path, ...privateKinds[name] }];
  });
