import { startAgent } from "../../flows/agent/start.js";
import type { Handler } from "../command.js";
import { onAgents } from "../many.js";
import { start } from "./commands.js";
import { would } from "./tell.js";
import { checkView } from "./view.js";

export const run: Handler<typeof start> = ({ args, options }, clm) =>
  onAgents(clm, {
    command: start,
    words: args.names,
    options,
    work: (session, word) => startAgent(session, word, { force: options.force }),
    data: ({ changes, proofs }) => ({ ...(!clm.dryRun && { running: true }), changes, proofs }),
    told: ({ changes, proofs }, who) => {
      if (clm.dryRun) return would(changes, `${who}is running already`);
      if (proofs.some(({ result }) => result === "fail")) return [`${who}runs, but does not answer`];
      return [`${who}${changes.length === 0 ? "was running already; nothing was changed" : "is started"}`];
    },
    tables: ({ proofs }) => clm.list(proofs, checkView),
  });
