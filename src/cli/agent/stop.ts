import { stopAgent } from "../../flows/agent/stop.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { stop } from "./commands.js";
import { agentView } from "./view.js";

export const run: Handler<typeof stop> = async ({ args, options }, clm) => {
  const { sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => stopAgent(session, args.name));
  if (!done) return undefined;
  const { agent, already } = done;
  clm.ui.note(`${agent.name} ${already ? "was stopped already; nothing was changed" : "is stopped; its data stays"}`);
  clm.list([agent], agentView(clm));
  return undefined;
};
