import { renameHost } from "../../flows/host/rename.js";
import { withSession } from "../../flows/session.js";
import { hostNameFrom } from "../../names.js";
import type { Handler } from "../command.js";
import type { rename } from "./commands.js";

export const run: Handler<typeof rename> = async ({ args: { oldName, newName } }, clm) => {
  const to = hostNameFrom(newName);
  await withSession(clm, (session) => renameHost(session, oldName, to));
  if (!clm.dryRun) clm.ui.note(`${oldName} is now ${to}`);
  return undefined;
};
