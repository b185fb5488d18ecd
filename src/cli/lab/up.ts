import { labUp } from "../../flows/lab/up.js";
import { withSession } from "../../flows/session.js";
import { labNameFrom } from "../../lab/lab.js";
import type { Handler } from "../command.js";
import type { up } from "./commands.js";
import { labRows, labView } from "./view.js";

export const run: Handler<typeof up> = async ({ options }, clm) => {
  // Machines and mounts of a half-made lab are taken away first.
  clm.mayTakeToStop(60_000);
  const { hosts, release, internet } = options;
  const wish = { name: labNameFrom(options.name), hosts, release, internet };
  const lab = await withSession(clm, (session) => labUp(session, wish));
  if (lab) clm.list(labRows(lab), labView);
  return undefined;
};
