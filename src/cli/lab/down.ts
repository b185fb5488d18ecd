import { allLabs, type LabGone, labDown } from "../../flows/lab/down.js";
import { withSession } from "../../flows/session.js";
import { labNameFrom } from "../../lab/lab.js";
import type { Handler } from "../command.js";
import type { down } from "./commands.js";
import { goneView } from "./view.js";

export const run: Handler<typeof down> = async ({ options }, clm) => {
  // Machines and mounts of a half-made lab are taken away first.
  clm.mayTakeToStop(60_000);
  const gone: LabGone[] = [];
  await withSession(clm, async (session) => {
    const names = options.all ? await allLabs(session) : [labNameFrom(options.name)];
    if (names.length === 0) clm.ui.note("there is no lab; nothing to do");
    for (const name of names) {
      const lab = await labDown(session, name);
      if (lab) gone.push(lab);
    }
  });
  // A person was told as it happened.
  if (clm.format !== "table") clm.list(gone, goneView);
  return undefined;
};
