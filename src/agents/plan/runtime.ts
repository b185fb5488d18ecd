import type { Manifest } from "../manifest/manifest.js";
import { inRange } from "../manifest/versions.js";
import type { ResolvedAgent } from "./resolved-agent.js";

/** Another program that can run an agent's turns, as the manifest describes it. */
export type RuntimeType = Manifest["runtimes"][string];

/** The program that runs the agent's turns; undefined when the agent does so itself, or its version cannot hand them over. */
export function activeRuntime({
  manifest,
  version,
  runtime,
}: Pick<ResolvedAgent, "manifest" | "version" | "runtime">): RuntimeType | undefined {
  const { kind = "" } = runtime ?? {};
  const type = Object.hasOwn(manifest.runtimes, kind) ? manifest.runtimes[kind] : undefined;
  return type && inRange(version, type.when) ? type : undefined;
}
