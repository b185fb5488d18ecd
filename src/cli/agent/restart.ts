import { restartAgent } from "../../flows/agent/restart.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { restart } from "./commands.js";
import { tell, tellWould } from "./tell.js";
import { checkView } from "./view.js";

export const run: Handler<typeof restart> = async ({ args, options }, clm) => {
  const { force, sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) =>
    restartAgent(session, args.name, { force }),
  );
  const { agent, changes, proofs } = done;
  if (clm.dryRun) tellWould(clm, changes);
  else if (proofs.some(({ result }) => result === "fail")) clm.ui.note(`${agent.name} runs, but does not answer`);
  else clm.ui.note(`${agent.name} is restarted`);
  tell(clm, agent, { ...(!clm.dryRun && { running: true }), changes, proofs }, () => clm.list(proofs, checkView));
  return undefined;
};
