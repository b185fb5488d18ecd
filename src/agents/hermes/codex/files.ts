import type { Secret } from "../../../secret.js";
import { environmentOf } from "../../plan/account.js";
import type { Derived, ManagedFile, Sources } from "../../plan/managed-file.js";
import type { Plan } from "../../plan/plan.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { runtimeTypeOf } from "../../plan/runtime.js";
import { type MergedConfigToml, mergeConfigToml } from "./config-toml.js";
import { mirrored, unmirrored } from "./mirror.js";
import { callbackOf, codexPlaces, runsOnCodex } from "./runtime.js";
import { settingIn } from "./settings.js";

export const configId = "codex";
export const agentsId = "codex_agents";

/** None when the agent runs its turns itself. `env` are the variables of the service's `.env`. */
export function codexFiles(agent: ResolvedAgent, env: ReadonlyMap<string, string | Secret>): ManagedFile[] {
  const { runtime } = agent;
  if (!runtime || !runsOnCodex(agent)) return [];
  const { permissions, plugins, mirror } = runtime;
  const { config, agents, ...mind } = codexPlaces(agent);

  const deriveConfig = ({ read, planned, owned }: Sources): Derived => {
    const merged = mergeConfigToml(read(configId), {
      servers: settingIn(planned("config"), "mcp_servers"),
      variables: new Map([...Object.entries(environmentOf(agent)), ...env]),
      permissions,
      plugins,
      former: owned,
      callback: callbackOf(agent, runtimeTypeOf(agent, "codex")),
    });
    return { text: merged.text, owned: merged.servers, notes: merged.notes, made: merged };
  };
  /** AGENTS.md with the agent's identity and memory, if configured. */
  const deriveAgents = ({ read }: Sources): Derived => {
    const before = read(agentsId);
    const part = (name: keyof typeof mind) => read(name) ?? "";
    const text = mirror
      ? mirrored(before, { name: agent.name, soul: part("soul"), memory: part("memory"), user: part("user") })
      : before && unmirrored(before);
    return { text, leave: text === before };
  };

  const closed = { mode: 0o600, directories: [runtime.home] };
  const merge = "derived";
  const reads = mirror ? mind : {};
  return [
    { id: configId, path: config, ...closed, restarts: true, content: { merge, reads: {}, derive: deriveConfig } },
    // Codex reads it whenever a session begins.
    { id: agentsId, path: agents, ...closed, restarts: false, content: { merge, reads, derive: deriveAgents } },
  ];
}

export const mergedIn = ({ files }: Pick<Plan, "files">): MergedConfigToml | undefined =>
  files.find(({ file }) => file.id === configId)?.made as MergedConfigToml | undefined;
