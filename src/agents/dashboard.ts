import { Fault } from "../errors.js";
import { fill } from "../render/template.js";
import { lookScript } from "./looking.js";
import type { Manifest } from "./manifest.js";
import { doorScript } from "./proof/door.js";
import { isLoopback } from "./proof/judge.js";
import { proofLibrary } from "./proof/library.js";
import type { Seen } from "./proof/seen.js";
import type { Subject } from "./subject.js";
import { inRange } from "./versions.js";

export type Dashboard = NonNullable<Manifest["dashboard"]>;

/** What the manifest says of the dashboard, or a fault when the agent's version has none. */
export function dashboardOf({ manifest, name, version, word }: Subject): Dashboard {
  const { dashboard, title } = manifest;
  if (dashboard && inRange(version, dashboard.when)) return dashboard;
  throw new Fault("unsupported", `${name} has no dashboard`, {
    why: dashboard ? `${title} ${version} has none; versions ${dashboard.when} do` : `${title} has none`,
    next: `clm tunnel ${word}`,
  });
}

/** The words that start it. */
export const dashboardWords = ({ places }: Subject, { args }: Dashboard, port: number): string[] => [
  places.launcher,
  ...args.map((arg) => fill(arg, { port }) ?? arg),
];

/** The script that looks for room: what systemd there is, and which ports are taken. */
export const roomScript = (subject: Subject): string =>
  lookScript(subject, proofLibrary, ["exec </dev/null", "see_systemd", "see_ports"]);

/** A port that nobody listens on, nor would if all agents of the host were up. */
export function roomIn({ ports: { first, last } }: Dashboard, taken: readonly number[]): number | undefined {
  for (let port = first; port <= last; port++) if (!taken.includes(port)) return port;
  return undefined;
}

/** The script that looks who holds the port of a dashboard that runs as `unit`. */
export const holderScript = (subject: Subject, unit: string, port: number): string =>
  doorScript({ ...subject, unit, port });

/** Whether its own processes hold its port, on the loopback alone. Nobody may yet. */
export const isHeld = ({ listeners, strangers }: Seen): boolean =>
  strangers.length === 0 && listeners.length > 0 && listeners.every(({ own, address }) => own && isLoopback(address));
