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

export interface PortTrouble {
  /** Another process holds the port, or a connection of it; or nothing listens there, for one of these reasons. */
  door: "taken" | "gone" | "stopped" | "silent";
  why: string[];
}

/** Undefined when the port is held by processes of the agent's unit alone, on the loopback. */
export function portTrouble(agent: ResolvedAgent, seen: Observation): PortTrouble | undefined {
  const failed = judge(agent, seen).filter(({ id, result }) => (id === "unit" || id === "port") && result === "fail");
  if (!failed.some(({ id }) => id === "port")) return undefined;
  const why = failed.map(({ reason }) => reason);
  if (seen.listeners.length + seen.strangers.length > 0) return { door: "taken", why };
  if (seen.unit.LoadState === "not-found" || !seen.account) return { door: "gone", why };
  return { door: seen.unit.ActiveState === "inactive" ? "stopped" : "silent", why };
}

/** Why the agent's key must not be sent to its port. */
export function portOwnerFault(agent: ResolvedAgent, seen: Observation): Fault | undefined {
  const trouble = portTrouble(agent, seen);
  if (!trouble) return undefined;
  const { ref, host, name, unit } = agent;
  const { door, why } = trouble;
  const next = `clm agent doctor ${ref}`;
  if (door === "taken") {
    const { listeners, strangers } = seen;
    const what = `the key of ${name} was not sent: its port on ${host} is not its own alone`;
    return new Fault("check-failed", what, { why, next, data: { listeners, strangers } });
  }
  const data = { door };
  if (door === "stopped") {
    const start = `clm agent start ${ref}`;
    return new Fault("not-ready", `${name} is stopped`, { why: `${unit} on ${host}`, next: start, data });
  }
  const what = door === "gone" ? `${name} is no longer on ${host}` : `${name} does not listen on ${host}`;
  return new Fault("not-ready", what, { why, next, data });
}
