import type { TomlTable } from "../../files/toml.js";
import type { Tree } from "../../files/tree.js";
import { inRange } from "../../manifest/versions.js";
import { mustHavePath, type ResolvedAgent } from "../../plan/resolved-agent.js";
import { activeRuntime, fillPaths, type RuntimeType, runtimeTypeOf } from "../../plan/runtime.js";

export const runsOnCodex = (agent: Pick<ResolvedAgent, "manifest" | "version" | "runtime">): boolean =>
  agent.runtime?.kind === "codex" && activeRuntime(agent) !== undefined;

/** On Codex a stream of Hermes has no text, while a whole answer has (seen live). */
export const streamsText = (agent: ResolvedAgent): boolean => !runsOnCodex(agent);

/** The part of config.yaml that selects the runtime. */
export function runtimeConfig({ manifest, version, runtime }: ResolvedAgent): Tree {
  const { codex } = manifest.runtimes;
  if (!runtime || !codex || !inRange(version, codex.when)) return {};
  return { model: { [codex.key]: runtime.kind === "codex" ? (codex.setting ?? "codex_app_server") : "auto" } };
}

/** Also for the default directory: the service may have another one now. */
export const codexHome = ({ runtime }: ResolvedAgent): Record<string, string> =>
  runtime ? { CODEX_HOME: runtime.home } : {};

/** Only a directory that is not Codex' default. */
export function runtimeEnv(agent: ResolvedAgent): Record<string, string> {
  if (!runsOnCodex(agent)) return {};
  const isOwn = agent.runtime?.home === fillPaths(agent, runtimeTypeOf(agent, "codex").homes.own);
  return isOwn ? codexHome(agent) : {};
}

/** Codex' files, and the memory files that its instructions are made of. */
export function codexPlaces(agent: ResolvedAgent) {
  const { runtime, paths } = agent;
  const home = runtime?.home ?? "";
  const memories = mustHavePath(agent, "memories");
  return {
    config: `${home}/config.toml`,
    agents: `${home}/AGENTS.md`,
    soul: `${paths.data}/SOUL.md`,
    memory: `${memories}/MEMORY.md`,
    user: `${memories}/USER.md`,
  };
}

/** The agent as an MCP server of Codex. */
export function callbackOf(agent: ResolvedAgent, { callback }: RuntimeType): TomlTable {
  const place = (text: string) => fillPaths(agent, text);
  const env = Object.entries(callback.env).map(([name, value]): [string, string] => [name, place(value)]);
  return new Map<string, string | string[] | number | Map<string, string>>([
    ["command", place(callback.command)],
    ["args", callback.args],
    ["env", new Map(env)],
    ...(callback.env_vars.length > 0 ? [["env_vars", callback.env_vars] as const] : []),
    ["startup_timeout_sec", callback.startup_timeout_sec],
    ["tool_timeout_sec", callback.tool_timeout_sec],
  ]);
}
