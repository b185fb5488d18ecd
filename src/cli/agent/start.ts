import { startAgent } from "../../flows/agent/start.js";
import { checkView } from "../agent-view.js";
import type { Handler } from "../command.js";
import { dryRunLines } from "../print-result.js";
import { runOnAgents } from "../run-on-agents.js";
import { start } from "./commands.js";

export const run: Handler<typeof start> = ({ args, options }, clm) =>
  runOnAgents(start, { args, options }, clm, {
    run: (session, ref) => startAgent(session, ref, { force: options.force }),
    json: ({ changes, proofs }) => ({ ...(!clm.dryRun && { running: true }), changes, proofs }),
    lines: ({ changes, proofs }, subject) => {
      if (clm.dryRun) return dryRunLines(changes, `${subject}is running already`);
      if (proofs.some(({ result }) => result === "fail")) return [`${subject}runs, but does not answer`];
      return [`${subject}${changes.length === 0 ? "was running already; nothing was changed" : "is started"}`];
    },
    print: ({ proofs }) => clm.list(proofs, checkView),
  });
