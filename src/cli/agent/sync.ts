import { syncAgent } from "../../flows/agent/sync.js";
import type { Handler } from "../command.js";
import { onAgents } from "../many.js";
import { sync } from "./commands.js";
import { changeText, would } from "./tell.js";
import { checkView, nextFor } from "./view.js";

export const run: Handler<typeof sync> = ({ args, options }, clm) =>
  onAgents(clm, {
    command: sync,
    words: args.names,
    options,
    work: syncAgent,
    data: ({ changes, proofs }) => ({ changes, proofs }),
    told: ({ agent, changes, proofs }, who) => {
      if (clm.dryRun) return would(changes, `${who}has no configuration drift`);
      const { down, onboarding } = agent.record;
      const idle = down ? "; it is stopped and stays stopped" : `; next: ${nextFor(agent)}`;
      const how = proofs.length > 0 && onboarding.state === "ready" ? ", and answers" : idle;
      if (changes.length === 0) return [`${who}has no configuration drift${how}; nothing was changed`];
      return [
        ...changes.map((change) => `${who}changed ${changeText(change)}`),
        `${who}has no configuration drift any more${how}`,
      ];
    },
    tables: ({ proofs }) => clm.list(proofs, checkView),
  });
