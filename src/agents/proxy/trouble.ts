import { Fault } from "../../errors.js";
import type { AgentProxy } from "../plan/proxy.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { fixes, judge } from "../probe/proof/judge.js";
import type { Observation } from "../probe/proof/observation.js";

/** Why the port must not be used: it is not held by the proxy's own processes, on the loopback only. */
export function proxyTrouble(agent: ResolvedAgent, proxy: AgentProxy, seen: Observation): Fault | undefined {
  const { ref, host, name } = agent;
  const as = { ...agent, unit: proxy.unit, port: proxy.port };
  const failed = judge(as, seen).filter(({ id, result }) => (id === "unit" || id === "port") && result === "fail");
  if (!failed.some(({ id }) => id === "port")) return undefined;
  const why = failed.map(({ reason }) => reason);
  const again = `clm agent proxy enable ${ref} --provider ${proxy.provider}`;
  const { listeners, strangers } = seen;
  if (listeners.length + strangers.length > 0) {
    return new Fault("check-failed", `the port of the proxy of ${name} on ${host} is not its own alone`, {
      why,
      next: again,
      data: { listeners, strangers },
    });
  }
  const { LoadState, ActiveState } = seen.unit;
  const next = ActiveState === "failed" ? [again, fixes(as).journal] : again;
  const gone = LoadState === "not-found" || !seen.account;
  const door = gone ? "gone" : ActiveState === "inactive" ? "stopped" : "silent";
  return new Fault("not-ready", `the proxy of ${name} does not run on ${host}`, { why, next, data: { door } });
}
