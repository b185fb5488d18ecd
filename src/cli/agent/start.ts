import { startAgent } from "../../flows/agent/start.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { start } from "./commands.js";
import { tell, tellWould } from "./tell.js";
import { checkView } from "./view.js";

export const run: Handler<typeof start> = async ({ args, options }, clm) => {
  const { force, sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => startAgent(session, args.name, { force }));
  const { agent, changes, proofs } = done;
  const already = changes.length === 0;
  if (clm.dryRun) tellWould(clm, changes, `${agent.name} is running already`);
  else if (proofs.some(({ result }) => result === "fail")) clm.ui.note(`${agent.name} runs, but does not answer`);
  else clm.ui.note(`${agent.name} ${already ? "was running already; nothing was changed" : "is started"}`);
  tell(clm, agent, { ...(!clm.dryRun && { running: true }), changes, proofs }, () => clm.list(proofs, checkView));
  return undefined;
};
