import { restartAgent } from "../../flows/agent/restart.js";
import type { Handler } from "../command.js";
import { onAgents } from "../many.js";
import { restart } from "./commands.js";
import { would } from "./tell.js";
import { checkView } from "./view.js";

export const run: Handler<typeof restart> = ({ args, options }, clm) =>
  onAgents(clm, {
    command: restart,
    words: args.names,
    options,
    work: (session, word) => restartAgent(session, word, { force: options.force, now: options.now }),
    data: ({ changes, proofs }) => ({ ...(!clm.dryRun && { running: true }), changes, proofs }),
    told: ({ changes, proofs }, who) => {
      if (clm.dryRun) return would(changes);
      return [`${who}${proofs.some(({ result }) => result === "fail") ? "runs, but does not answer" : "is restarted"}`];
    },
    tables: ({ proofs }) => clm.list(proofs, checkView),
  });
