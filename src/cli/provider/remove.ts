import { removeProvider } from "../../flows/provider/remove.js";
import { configureLine } from "../../flows/provider/users.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  await withSession(clm, async (session) => {
    const { agents, key } = await removeProvider(session, args.name, { force: options.force });
    if (clm.dryRun) return;
    clm.ui.note(`${args.name}${key ? " and its keys are" : " is"} forgotten`);
    const what = key ? `the key of ${args.name}` : `${args.name} in its files`;
    for (const agent of agents) {
      const again = `${configureLine(agent)} --stage providers`;
      clm.ui.note(`${agent.name} still has ${what} on ${agent.host.name}; choose another: ${again}`);
    }
  });
  return undefined;
};
