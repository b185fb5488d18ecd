import { down, mustBeRoot, recordedLabs } from "../../lab/lab.js";
import { byName } from "../../names.js";
import { forgetHost } from "../host/remove.js";
import type { Session } from "../session.js";
import { labOf } from "./ours.js";
import { removeOverlay } from "./overlay.js";

/** A lab that was taken down. */
export interface LabGone {
  name: string;
  hosts: string[];
}

/**
 * Lab down: the lab's hosts are gone from this machine and from the fleet, also when an earlier run was cut short. Gives
 * undefined when there was nothing to take down.
 */
export async function labDown(session: Session, name: string): Promise<LabGone | undefined> {
  const { gate, ui, signal } = session;
  mustBeRoot(`clm lab down --name ${name}`);
  return gate.pass({ verb: "lab down", target: name, summary: `take down lab ${name}` }, async () => {
    const progress = ui.progress(`lab ${name}`);
    try {
      const stopped = await down(name, { signal, progress: (message) => progress.update(message) });
      const forgotten = fleetOf(session).filter(({ lab }) => lab === name);
      for (const host of forgotten) await forgetHost(session, host.name);
      if (fleetOf(session).length === 0) removeOverlay(session.configDir);
      if (!stopped && forgotten.length === 0) {
        progress.done(`there is no lab called ${name}; nothing to do`);
        return undefined;
      }
      progress.done(stopped ? `lab ${name}: down` : `lab ${name} was gone already; its hosts are forgotten`);
      const hosts = new Set([...(stopped ?? []), ...forgotten.map((host) => host.name)]);
      return { name, hosts: [...hosts].sort((a, b) => byName({ name: a }, { name: b })) };
    } catch (error) {
      progress.fail();
      throw error;
    }
  });
}

/** Every lab on this machine, and those that only the fleet still knows. */
export async function allLabs(session: Session): Promise<string[]> {
  return [...new Set([...(await recordedLabs()), ...fleetOf(session).map(({ lab }) => lab)])].sort();
}

/** The hosts in the fleet that labs added. */
function fleetOf({ configDir, hosts }: Session): { name: string; lab: string }[] {
  return hosts.read().hosts.flatMap((host) => {
    const lab = labOf(host, configDir);
    return lab === undefined ? [] : [{ name: host.name, lab }];
  });
}
