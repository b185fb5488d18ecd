import { startAgent } from "../../flows/agent/start.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { start } from "./commands.js";
import { checkView } from "./view.js";

export const run: Handler<typeof start> = async ({ args, options }, clm) => {
  const { force, sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => startAgent(session, args.name, { force }));
  if (!done) return undefined;
  const { agent, already, proofs } = done;
  clm.ui.note(`${agent.name} ${already ? "was running already; nothing was changed" : "is started"}`);
  clm.list(proofs, checkView);
  return undefined;
};
