import { updateProvider } from "../../flows/provider/update.js";
import { configureLine } from "../../flows/provider/users.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import { usage } from "../usage.js";
import { givenIn } from "./answers.js";
import type { update } from "./commands.js";
import { tellCheck } from "./tell.js";
import { providerView, rowOf } from "./view.js";

export const run: Handler<typeof update> = async ({ args: { name }, options }, clm) => {
  const { noTest, unset, ...answers } = options;
  if (
    unset.length === 0 &&
    Object.values(answers).every((value) => !value || (Array.isArray(value) && !value.length))
  ) {
    throw usage("clm provider update", `nothing is said about what to change of ${name}`);
  }
  const change = { ...givenIn("clm provider update", answers), unset, test: !noTest };
  await withSession(clm, async (session) => {
    const { provider, changed, agents, check } = await updateProvider(session, name, change);
    tellCheck(clm.ui, check);
    const fleet = session.hosts.read();
    clm.list([rowOf(name, provider, { fleet, secrets: session.secrets })], providerView);
    if (!changed) clm.ui.note("it was so already; nothing was changed");
    if (clm.dryRun) return;
    for (const agent of agents) clm.ui.note(`for the change to reach its host: ${configureLine(agent)}`);
  });
  return undefined;
};
