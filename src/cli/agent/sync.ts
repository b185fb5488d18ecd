import { syncAgent } from "../../flows/agent/sync.js";
import { checkView, nextCommand } from "../agent-view.js";
import type { Handler } from "../command.js";
import { changeText, dryRunLines } from "../print-result.js";
import { runOnAgents } from "../run-on-agents.js";
import { sync } from "./commands.js";

export const run: Handler<typeof sync> = ({ args, options }, clm) =>
  runOnAgents(sync, { args, options }, clm, {
    run: syncAgent,
    json: ({ changes, proofs }) => ({ changes, proofs }),
    lines: ({ agent, changes, proofs }, subject) => {
      if (clm.dryRun) return dryRunLines(changes, `${subject}has no configuration drift`);
      const { down, onboarding } = agent.record;
      const idle = down ? "; it is stopped and stays stopped" : `; next: ${nextCommand(agent)}`;
      const how = proofs.length > 0 && onboarding.state === "ready" ? ", and answers" : idle;
      if (changes.length === 0) return [`${subject}has no configuration drift${how}; nothing was changed`];
      return [
        ...changes.map((change) => `${subject}changed ${changeText(change)}`),
        `${subject}no longer has configuration drift${how}`,
      ];
    },
    print: ({ proofs }) => clm.list(proofs, checkView),
  });
