import { fill } from "../files/template.js";
import { namedPaths, type ResolvedAgent } from "./resolved-agent.js";

const standardPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
type Account = Pick<ResolvedAgent, "user" | "paths" | "manifest">;

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
