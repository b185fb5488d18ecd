import { Fault } from "../../errors.js";
import { fill } from "../../render/template.js";
import type { TomlTable } from "../../render/toml.js";
import type { Tree } from "../config-tree.js";
import type { Manifest } from "../manifest.js";
import type { Subject } from "../subject.js";
import { inRange } from "../versions.js";

export type CodexType = NonNullable<Manifest["codex"]>;

/** Who runs an agent's turns, as it is recorded. */
export type Runtime = NonNullable<Subject["runtime"]>;

/** What Hermes calls it when it runs its turns itself, and when Codex does. */
export const runtimeSettings = { auto: "auto", codex: "codex_app_server" };

/** What the manifest says of Codex, or a fault when the agent's version cannot hand its turns to it. */
export function codexTypeOf({ manifest, name, version }: Subject): CodexType {
  const { codex, title } = manifest;
  if (codex && inRange(version, codex.when)) return codex;
  throw new Fault("unsupported", `${name} cannot run on Codex`, {
    why: codex ? `${title} ${version} cannot; versions ${codex.when} can` : `${title} cannot`,
    next: `clm registry show ${manifest.type}`,
  });
}

/** Whether an agent's turns are to be Codex', by a version that can. */
export const runsOnCodex = ({
  manifest,
  version,
  runtime,
}: Pick<Subject, "manifest" | "version" | "runtime">): boolean =>
  runtime?.kind === "codex" && manifest.codex !== undefined && inRange(version, manifest.codex.when);

/** Whether text comes while the model speaks. On Codex a stream of Hermes has no text at all, and a whole answer has it (seen live). */
export const streamsText = (subject: Subject): boolean => !runsOnCodex(subject);

/** The part of config.yaml that says who runs its turns. */
export function runtimeConfig({ manifest, version, runtime }: Subject): Tree {
  const { codex } = manifest;
  if (!runtime || !codex || !inRange(version, codex.when)) return {};
  return { model: { [codex.key]: runtimeSettings[runtime.kind] } };
}

/** Where Codex is to look, said also of the place where it looks by itself: what the service has now may say another. */
export const codexHome = ({ runtime }: Subject): Record<string, string> =>
  runtime ? { CODEX_HOME: runtime.home } : {};

/** Where Codex looks for its settings by itself is not said. */
export function runtimeEnv(subject: Subject): Record<string, string> {
  const { manifest, runtime } = subject;
  if (!runtime || !manifest.codex || !runsOnCodex(subject)) return {};
  return runtime.home === inPlaces(subject, manifest.codex.homes.own) ? { CODEX_HOME: runtime.home } : {};
}

/** Where Codex' files are, and what its instructions are made of, by the names under which a look tells of them. */
export function codexPlaces({ runtime, places }: Subject) {
  const home = runtime?.home ?? "";
  return {
    codex_config: `${home}/config.toml`,
    codex_agents: `${home}/AGENTS.md`,
    soul: `${places.data}/SOUL.md`,
    memory: `${places.memories}/MEMORY.md`,
    user: `${places.memories}/USER.md`,
  };
}

/** The files whose text has to be known before anything about Codex can be wished. */
export function codexTexts(subject: Subject): Record<string, string> {
  if (!runsOnCodex(subject)) return {};
  const { codex_config, codex_agents, ...mind } = codexPlaces(subject);
  return { codex_config, codex_agents, ...(subject.runtime?.mirror && mind) };
}

/** A template of the manifest with the agent's places in it. */
export function inPlaces({ places, manifest }: Subject, template: string): string {
  const { path: _, ...named } = places;
  const filled = fill(template, named);
  if (filled === undefined)
    throw new Fault("bad-input", `the manifest of ${manifest.type} names no place: ${template}`);
  return filled;
}

/** How Codex calls the agent back. */
export function callbackOf(subject: Subject, { callback }: CodexType): TomlTable {
  const place = (text: string) => inPlaces(subject, text);
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
