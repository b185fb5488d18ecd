import type { ResolvedAgent } from "./resolved-agent.js";

const standardPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** What an agent's processes have in their environment beside what its `.env` says. Nothing in it is secret. */
export const environmentOf = ({ user, paths }: Pick<ResolvedAgent, "user" | "paths">): Record<string, string> => ({
  HOME: paths.home,
  USER: user,
  LOGNAME: user,
  HERMES_HOME: paths.data,
  PATH: [...paths.path, ...standardPath].join(":"),
});
