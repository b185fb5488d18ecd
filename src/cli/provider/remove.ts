import { removeProvider } from "../../flows/provider/remove.js";
import { configureLines } from "../../flows/provider/users.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  await withSession(clm, async (session) => {
    const agents = await removeProvider(session, args.name, { force: options.force });
    if (clm.dryRun) return;
    clm.ui.note(`${args.name} and its keys are forgotten`);
    for (const line of configureLines(agents, session.hosts.read())) {
      clm.ui.note(`still has its key on its host; choose another: ${line} --stage providers`);
    }
  });
  return undefined;
};
