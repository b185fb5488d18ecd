import { stopAgent } from "../../flows/agent/stop.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { stop } from "./commands.js";
import { tell, tellWould } from "./tell.js";

export const run: Handler<typeof stop> = async ({ args, options }, clm) => {
  const { sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => stopAgent(session, args.name));
  const { agent, changes } = done;
  const already = changes.length === 0;
  if (clm.dryRun) tellWould(clm, changes, `${agent.name} is stopped already`);
  else
    clm.ui.note(`${agent.name} ${already ? "was stopped already; nothing was changed" : "is stopped; its data stays"}`);
  tell(clm, agent, { ...(!clm.dryRun && { running: false }), changes }, () => {});
  return undefined;
};
