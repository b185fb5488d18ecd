import { Fault } from "../../errors.js";
import type { AgentProxy } from "../plan/proxy.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { fixes } from "../probe/proof/judge.js";
import type { Observation } from "../probe/proof/observation.js";
import { portTrouble } from "../probe/proof/port-owner.js";

/** Why the port must not be used: it is not held by the proxy's own processes, on the loopback only. */
export function proxyTrouble(agent: ResolvedAgent, proxy: AgentProxy, seen: Observation): Fault | undefined {
  const { ref, host, name } = agent;
  const service = { ...agent, unit: proxy.unit, port: proxy.port };
  const trouble = portTrouble(service, seen);
  if (!trouble) return undefined;
  const { door, why } = trouble;
  const again = `clm agent proxy enable ${ref} --provider ${proxy.provider}`;
  if (door === "taken") {
    const { listeners, strangers } = seen;
    const what = `the port of the proxy of ${name} on ${host} is not its own alone`;
    return new Fault("check-failed", what, { why, next: again, data: { listeners, strangers } });
  }
  const next = seen.unit.ActiveState === "failed" ? [again, fixes(service).journal] : again;
  return new Fault("not-ready", `the proxy of ${name} does not run on ${host}`, { why, next, data: { door } });
}
