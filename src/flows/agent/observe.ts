import type { ResolvedAgent } from "../../agents/plan/resolved-agent.js";
import { type Observation, parseObservation } from "../../agents/probe/proof/observation.js";
import { chatTimeout, type ProbeOptions, proofScript } from "../../agents/probe/proof/script.js";
import { askHost } from "../../remote/ask-host.js";
import type { Shell } from "../../remote/process.js";
import type { Secret } from "../../secret.js";

// Milliseconds; the slowest part is a program that prints its version.
const probeTimeout = 90_000;

/** One exec; the key is sent on stdin. */
export function observe(
  root: Shell,
  agent: ResolvedAgent,
  key: Secret,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<Observation> {
  const asking = {
    host: agent.host,
    what: `the status of ${agent.name}`,
    stdin: `${key.reveal()}\n`,
    timeout: probeTimeout + (options.chat ? chatTimeout : 0),
    signal,
  };
  return askHost(root, proofScript(agent, options), asking, parseObservation);
}
