import { Fault } from "../../../errors.js";
import { sh } from "../../../quote.js";
import type { ResolvedAgent } from "../../plan/resolved-agent.js";
import { probeScript } from "../script.js";
import { judge } from "./judge.js";
import { proofLibrary } from "./library.js";
import type { Observation } from "./observation.js";

/** Finds the owner of an agent's port. It needs no key and sends none. */
export const portOwnerScript = (agent: ResolvedAgent): string =>
  probeScript(agent, proofLibrary, [
    sh`port=${agent.port}`,
    "exec </dev/null",
    "probe_account",
    "probe_unit",
    "probe_port",
  ]);

/** Why the agent's key must not be sent to its port: the port is not held by the agent's processes alone, on the loopback. */
export function portOwnerFault(agent: ResolvedAgent, seen: Observation): Fault | undefined {
  const { ref, host, name, unit } = agent;
  const failed = judge(agent, seen).filter(({ id, result }) => (id === "unit" || id === "port") && result === "fail");
  const port = failed.find(({ id }) => id === "port");
  const { LoadState, ActiveState } = seen.unit;
  if (!port) return undefined;
  const doctor = `clm agent doctor ${ref}`;
  const why = failed.map(({ reason }) => reason);
  const { listeners, strangers } = seen;
  if (listeners.length + strangers.length > 0) {
    const what = `the key of ${name} was not sent: its port on ${host} is not its own alone`;
    return new Fault("check-failed", what, { why, next: doctor, data: { listeners, strangers } });
  }
  if (LoadState === "not-found" || !seen.account) {
    return new Fault("not-ready", `${name} is not on ${host} any more`, { why, next: doctor, data: { door: "gone" } });
  }
  if (ActiveState === "inactive") {
    return new Fault("not-ready", `${name} is stopped`, {
      why: `${unit} on ${host}`,
      next: `clm agent start ${ref}`,
      data: { door: "stopped" },
    });
  }
  return new Fault("not-ready", `${name} does not listen on ${host}`, { why, next: doctor, data: { door: "silent" } });
}
