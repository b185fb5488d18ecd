import { Fault } from "../../errors.js";
import { fill } from "../files/template.js";
import type { Manifest } from "../manifest/manifest.js";
import { noCapability } from "../manifest/no-capability.js";
import { inRange } from "../manifest/versions.js";
import { firstPort } from "../plan/ports.js";
import type { ResolvedAgent } from "../plan/resolved-agent.js";
import { isLoopback } from "../probe/proof/addresses.js";
import { proofLibrary } from "../probe/proof/library.js";
import type { Observation } from "../probe/proof/observation.js";
import { portOwnerScript } from "../probe/proof/port-owner.js";
import { probeScript } from "../probe/script.js";

export type Dashboard = NonNullable<Manifest["dashboard"]>;

/** The manifest's description; a fault when the agent's version has no dashboard. */
export function dashboardOf({ manifest, name, version, ref }: ResolvedAgent): Dashboard {
  const { dashboard, title } = manifest;
  if (dashboard && inRange(version, dashboard.when)) return dashboard;
  if (!dashboard) throw noCapability(manifest, "dashboard");
  throw new Fault("unsupported", `${name} has no dashboard`, {
    why: `${title} ${version} has none; versions ${dashboard.when} do`,
    next: `clm tunnel ${ref}`,
  });
}

export const dashboardWords = ({ paths }: ResolvedAgent, { args }: Dashboard, port: number): string[] => [
  paths.launcher,
  ...args.map((arg) => fill(arg, { port }) ?? arg),
];

export const roomScript = (agent: ResolvedAgent): string =>
  probeScript(agent, proofLibrary, ["exec </dev/null", "probe_systemd", "probe_ports"]);

/** The first free port. `taken` includes the ports of stopped agents. */
export const roomIn = ({ ports }: Dashboard, taken: readonly number[]): number | undefined =>
  firstPort(ports, (port) => !taken.includes(port));

export const holderScript = (agent: ResolvedAgent, unit: string, port: number): string =>
  portOwnerScript({ ...agent, unit, port });

/** Whether only its own processes hold its port, on the loopback. */
export const isHeld = ({ listeners, strangers }: Observation): boolean =>
  strangers.length === 0 && listeners.length > 0 && listeners.every(({ own, address }) => own && isLoopback(address));
