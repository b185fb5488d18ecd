import type { Operation } from "../../remote/operations/operation.js";
import type { ObservedHost } from "./observed-host.js";
import { accountOperations, unitOperation } from "./operations.js";
import { mustBeOurs } from "./plan.js";
import { proxyOperations } from "./proxy-unit.js";
import type { ResolvedAgent } from "./resolved-agent.js";

/** The operations of install, for an agent that is not configured yet: clm does not own its files' contents. */
export function installedOperations(
  agent: ResolvedAgent,
  observation: ObservedHost,
  mark: string | undefined,
): Operation[] {
  mustBeOurs(agent, observation, mark);
  const { enabled: _, ...unit } = unitOperation(agent, observation.systemd);
  const proxy = proxyOperations(agent, observation.systemd);
  return mark === undefined ? proxy : [...accountOperations(agent, mark), unit, ...proxy];
}
