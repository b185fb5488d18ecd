import { removeHost } from "../../flows/host/remove.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  await withSession(clm, (session) => removeHost(session, args.name, { forget: options.forget }));
  if (!clm.dryRun) clm.ui.note(`${args.name} is forgotten; nothing was changed on it`);
  return undefined;
};
