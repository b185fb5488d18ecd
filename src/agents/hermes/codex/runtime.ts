import { Fault } from "../../../errors.js";
import { fill } from "../../files/template.js";
import type { TomlTable } from "../../files/toml.js";
import type { Tree } from "../../files/tree.js";
import { inRange } from "../../manifest/versions.js";
import { mustHavePath, namedPaths, type ResolvedAgent } from "../../plan/resolved-agent.js";
import { activeRuntime, type RuntimeType } from "../../plan/runtime.js";

export type CodexType = RuntimeType;

/** Who runs an agent's turns, as it is recorded. */
export type Runtime = NonNullable<ResolvedAgent["runtime"]>;

/** What Hermes calls it when it runs its turns itself, and when Codex does. */
export const runtimeSettings = { auto: "auto", codex: "codex_app_server" };

/** What the manifest says of Codex, or a fault when the agent's version cannot hand its turns to it. */
export function codexTypeOf({ manifest, name, version }: ResolvedAgent): CodexType {
  const { title } = manifest;
  const { codex } = manifest.runtimes;
  if (codex && inRange(version, codex.when)) return codex;
  throw new Fault("unsupported", `${name} cannot run on Codex`, {
    why: codex ? `${title} ${version} cannot; versions ${codex.when} can` : `${title} cannot`,
    next: `clm registry show ${manifest.type}`,
  });
}

/** Whether Codex is to run an agent's turns, and the agent's version can hand them over. */
export const runsOnCodex = (agent: Pick<ResolvedAgent, "manifest" | "version" | "runtime">): boolean =>
  agent.runtime?.kind === "codex" && activeRuntime(agent) !== undefined;

/** Whether text comes while the model speaks. On Codex a stream of Hermes has no text at all, and a whole answer has it (seen live). */
export const streamsText = (agent: ResolvedAgent): boolean => !runsOnCodex(agent);

/** The part of config.yaml that says who runs its turns. */
export function runtimeConfig({ manifest, version, runtime }: ResolvedAgent): Tree {
  const { codex } = manifest.runtimes;
  if (!runtime || !codex || !inRange(version, codex.when)) return {};
  return { model: { [codex.key]: runtime.kind === "codex" ? runtimeSettings.codex : runtimeSettings.auto } };
}

/** Where Codex is to look, said also of the place where it looks by itself: what the service has now may say another. */
export const codexHome = ({ runtime }: ResolvedAgent): Record<string, string> =>
  runtime ? { CODEX_HOME: runtime.home } : {};

/** Where Codex looks for its settings by itself is not said. */
export function runtimeEnv(agent: ResolvedAgent): Record<string, string> {
  const { runtime } = agent;
  if (!runtime || !runsOnCodex(agent)) return {};
  return runtime.home === inPlaces(agent, codexTypeOf(agent).homes.own) ? { CODEX_HOME: runtime.home } : {};
}

/** Codex' files, and what its instructions are made of. */
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

/** A template of the manifest with the agent's places in it. */
export function inPlaces({ paths, manifest }: ResolvedAgent, template: string): string {
  const filled = fill(template, namedPaths(paths));
  if (filled === undefined)
    throw new Fault("bad-input", `the manifest of ${manifest.type} names no place: ${template}`);
  return filled;
}

/** How Codex calls the agent back. */
export function callbackOf(agent: ResolvedAgent, { callback }: CodexType): TomlTable {
  const place = (text: string) => inPlaces(agent, text);
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
