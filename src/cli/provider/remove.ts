import { removeProvider } from "../../flows/provider/remove.js";
import { configureLines } from "../../flows/provider/users.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  await withSession(clm, async (session) => {
    const { agents, key } = await removeProvider(session, args.name, { force: options.force });
    if (clm.dryRun) return;
    clm.ui.note(`${args.name}${key ? " and its keys are" : " is"} forgotten`);
    for (const [index, line] of configureLines(agents, session.hosts.read()).entries()) {
      const { name = "", host } = agents[index] ?? {};
      const has = key ? `the key of ${args.name}` : `${args.name} in its files`;
      clm.ui.note(`${name} still has ${has} on ${host?.name}; choose another: ${line} --stage providers`);
    }
  });
  return undefined;
};
