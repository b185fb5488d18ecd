import { returnToAuto } from "../../../flows/agent/runtime/auto.js";
import type { Handler } from "../../command.js";
import { runOnAgents } from "../../run-on-agents.js";
import { auto } from "./commands.js";
import { canaryPace, dryRunLines, hasAnswered, printSwitch } from "./view.js";

export const run: Handler<typeof auto> = ({ args, options }, clm) =>
  runOnAgents(auto, { args, options }, clm, {
    pace: canaryPace(options),
    run: (session, ref) => returnToAuto(session, ref, options),
    json: ({ agent: _, title: __, ...result }) => result,
    lines: (result, subject) => {
      const { title, switched, changes, proofs, notes } = result;
      const already = `${subject}runs its turns itself already`;
      if (clm.dryRun) return dryRunLines(result, subject, already);
      if (changes.length === 0) return [`${already}; nothing was changed`];
      if (!switched) return [...notes, `${already}; ${title}' files are clean`];
      const how = hasAnswered(proofs) ? ", and answers" : "";
      return [...notes, `${subject}runs its turns itself again, from the next session on${how}`];
    },
    print: (result) => printSwitch(clm, result),
  });
