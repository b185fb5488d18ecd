import { Fault } from "../../errors.js";
import { own } from "../../text/own-property.js";
import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";
import { noCapability } from "../manifest/no-capability.js";
import { inRange } from "../manifest/versions.js";
import { namedPaths, type ResolvedAgent } from "./resolved-agent.js";

export type RuntimeType = Manifest["runtimes"][string];
export type RuntimeRecord = NonNullable<ResolvedAgent["runtime"]>;

/** The program that runs the agent's turns; undefined when the agent runs them itself, or its version requires that. */
export function activeRuntime(agent: Pick<ResolvedAgent, "manifest" | "version" | "runtime">): RuntimeType | undefined {
  const type = own(agent.manifest.runtimes, agent.runtime?.kind ?? "");
  return type && inRange(agent.version, type.when) ? type : undefined;
}

/** The name of the runtime an agent is set to, or of the one it could have. */
export function runtimeName({ manifest, runtime }: Pick<ResolvedAgent, "manifest" | "runtime">): string {
  const names = Object.keys(manifest.runtimes);
  const name = names.find((each) => each === runtime?.kind) ?? names[0];
  if (name === undefined) throw noCapability(manifest, "runtimes");
  return name;
}

export function runtimeTypeOf({ manifest, name, version }: ResolvedAgent, runtime: string): RuntimeType {
  const type = own(manifest.runtimes, runtime);
  if (!type) throw noCapability(manifest, `runtime ${runtime}`);
  if (inRange(version, type.when)) return type;
  throw new Fault("unsupported", `${name} cannot run on ${type.title}`, {
    why: `${manifest.title} ${version} cannot; versions ${type.when} can`,
    next: `clm registry show ${manifest.type}`,
  });
}

export function fillPaths({ paths, manifest }: Pick<ResolvedAgent, "paths" | "manifest">, template: string): string {
  const filled = fill(template, namedPaths(paths));
  if (filled !== undefined) return filled;
  throw new Fault("bad-input", `the manifest of ${manifest.type} has an invalid path template: ${template}`);
}
