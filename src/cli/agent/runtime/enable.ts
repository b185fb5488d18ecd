import { enableRuntime } from "../../../flows/agent/runtime/enable.js";
import { checkView } from "../../agent-view.js";
import type { Handler } from "../../command.js";
import { runOnAgents } from "../../run-on-agents.js";
import { enable, enableOptions } from "./commands.js";
import { canaryPace, dryRunLines, hasAnswered, printSwitch } from "./view.js";

export const run: Handler<typeof enable> = ({ args, options }, clm) => {
  const request = enableOptions(options);
  return runOnAgents(enable, { args, options }, clm, {
    pace: canaryPace(options),
    run: (session, ref) => enableRuntime(session, ref, request),
    json: ({ agent: _, title: __, ...result }) => result,
    lines: (result, subject) => {
      const { title, changes, proofs, notes } = result;
      if (clm.dryRun) return dryRunLines(result, subject, `${subject}runs on ${title} already`);
      if (proofs.length === 0)
        return [...notes, `${subject}is set to run on ${title}; it is stopped, so nothing was proven`];
      const how = `${changes.length === 0 ? " already; nothing was changed" : ""}${hasAnswered(proofs) ? ", and answers" : ""}`;
      return [...notes, `${subject}runs on ${title}${how}`];
    },
    print: (result) => {
      clm.list(result.checks, checkView);
      clm.ui.out("\n");
      printSwitch(clm, result);
    },
  });
};
