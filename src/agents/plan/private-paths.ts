import type { AgentPaths, ResolvedAgent } from "./resolved-agent.js";

/** A place of an agent's that nobody else may look into. */
export interface PrivatePath {
  name: Exclude<keyof AgentPaths, "path">;
  path: string;
  kind: "directory" | "regular file";
  mode: number;
}

/**
 * What is the agent's alone: install and configure wish it so, and the proof sees whether it is. The home of one that was
 * taken over is left as it is: clm did not make it, and it may be a person's.
 */
export function privatePaths({ paths, adopted }: Pick<ResolvedAgent, "paths" | "adopted">): PrivatePath[] {
  const closed = { directory: 0o700, "regular file": 0o600 };
  const place = (name: PrivatePath["name"], kind: PrivatePath["kind"]): PrivatePath[] => {
    const path = paths[name];
    return path === undefined ? [] : [{ name, path, kind, mode: closed[kind] }];
  };
  return [
    ...(adopted ? [] : place("home", "directory")),
    ...place("data", "directory"),
    ...place("memories", "directory"),
    ...place("env", "regular file"),
    ...place("config", "regular file"),
  ];
}
