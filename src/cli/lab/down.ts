import { forgetHost } from "../../flows/host/forget.js";
import type { Session } from "../../flows/session.js";
import { withProgress } from "../../flows/with-progress.js";
import { labNameFrom, mustBeRoot, recordedLabs, down as stopLab } from "../../lab/lab.js";
import { byName } from "../../names.js";
import type { Handler } from "../command.js";
import type { down } from "./commands.js";
import { labOf } from "./lab-of-host.js";
import { removeOverlay } from "./overlay.js";

export const run: Handler<typeof down> = async ({ options }, clm) => {
  // An interrupted command first removes the containers and mounts of the unfinished lab.
  clm.mayTakeToStop(60_000);
  const gone: RemovedLab[] = [];
  await clm.withSession(async (session) => {
    const names = options.all ? await allLabs(session) : [labNameFrom(options.name)];
    if (names.length === 0) clm.ui.note("there is no lab; nothing to do");
    for (const name of names) {
      const lab = await labDown(session, name);
      if (lab) gone.push(lab);
    }
  });
  // For a person, the progress line is enough.
  if (clm.format !== "table") clm.list(gone, { columns: [], name: (lab) => lab.name });
};

interface RemovedLab {
  name: string;
  hosts: string[];
}

/** Removes the lab's hosts from machine and fleet, also after an interrupted run. Undefined: nothing to do. */
async function labDown(session: Session, name: string): Promise<RemovedLab | undefined> {
  const { gate, ui, signal } = session;
  mustBeRoot(`clm lab down --name ${name}`);
  return gate.pass({ verb: "lab down", target: name, summary: `take down lab ${name}` }, () =>
    withProgress(ui, `lab ${name}`, async (progress) => {
      const stopped = await stopLab(name, { signal, progress });
      const forgotten = labHosts(session).filter(({ lab }) => lab === name);
      for (const host of forgotten) await forgetHost(session, host.name);
      if (labHosts(session).length === 0) removeOverlay(session.configDir);
      if (!stopped && forgotten.length === 0) {
        progress.done(`there is no lab called ${name}; nothing to do`);
        return undefined;
      }
      progress.done(stopped ? `lab ${name}: down` : `lab ${name} was already gone; removed its hosts from the fleet`);
      const hosts = new Set([...(stopped ?? []), ...forgotten.map((host) => host.name)]);
      return { name, hosts: [...hosts].sort((a, b) => byName({ name: a }, { name: b })) };
    }),
  );
}

/** Labs on this machine, and labs that only exist as records in the fleet. */
async function allLabs(session: Session): Promise<string[]> {
  return [...new Set([...(await recordedLabs()), ...labHosts(session).map(({ lab }) => lab)])].sort();
}

function labHosts({ configDir, hosts }: Session): { name: string; lab: string }[] {
  return hosts.read().hosts.flatMap((host) => {
    const lab = labOf(host, configDir);
    return lab === undefined ? [] : [{ name: host.name, lab }];
  });
}
