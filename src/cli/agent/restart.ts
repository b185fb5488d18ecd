import { restartAgent } from "../../flows/agent/start.js";
import { checkView } from "../agent-view.js";
import type { Handler } from "../command.js";
import { dryRunLines } from "../print-result.js";
import { runOnAgents } from "../run-on-agents.js";
import { restart } from "./commands.js";

export const run: Handler<typeof restart> = ({ args, options }, clm) =>
  runOnAgents(restart, { args, options }, clm, {
    run: (session, ref) => restartAgent(session, ref, { force: options.force, now: options.now }),
    json: ({ changes, proofs }) => ({ ...(!clm.dryRun && { running: true }), changes, proofs }),
    lines: ({ changes, proofs }, subject) => {
      if (clm.dryRun) return dryRunLines(changes);
      return [
        `${subject}${proofs.some(({ result }) => result === "fail") ? "runs, but does not answer" : "is restarted"}`,
      ];
    },
    print: ({ proofs }) => clm.list(proofs, checkView),
  });
