import type { AgentPaths, ResolvedAgent } from "./resolved-agent.js";

/** A path that only the agent's user may access. */
export interface PrivatePath {
  name: Exclude<keyof AgentPaths, "path">;
  path: string;
  kind: "directory" | "regular file";
  mode: number;
}

/** Not the home of an adopted agent: it may be a person's. */
export function privatePaths({ paths, adopted }: Pick<ResolvedAgent, "paths" | "adopted">): PrivatePath[] {
  const modes = { directory: 0o700, "regular file": 0o600 };
  const entry = (name: PrivatePath["name"], kind: PrivatePath["kind"]): PrivatePath[] => {
    const path = paths[name];
    return path === undefined ? [] : [{ name, path, kind, mode: modes[kind] }];
  };
  return [
    ...(adopted ? [] : entry("home", "directory")),
    ...entry("data", "directory"),
    ...entry("memories", "directory"),
    ...entry("env", "regular file"),
    ...entry("config", "regular file"),
  ];
}
