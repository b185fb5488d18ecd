import { restartAgent } from "../../flows/agent/restart.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { restart } from "./commands.js";
import { checkView } from "./view.js";

export const run: Handler<typeof restart> = async ({ args, options }, clm) => {
  const { force, sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) =>
    restartAgent(session, args.name, { force }),
  );
  if (!done) return undefined;
  const { agent, proofs } = done;
  clm.ui.note(`${agent.name} is restarted`);
  clm.list(proofs, checkView);
  return undefined;
};
