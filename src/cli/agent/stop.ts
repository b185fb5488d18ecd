import { stopAgent } from "../../flows/agent/stop.js";
import type { Handler } from "../command.js";
import { onAgents } from "../many.js";
import { stop } from "./commands.js";
import { would } from "./tell.js";

export const run: Handler<typeof stop> = ({ args, options }, clm) =>
  onAgents(clm, {
    ...{ command: stop, words: args.names, options, work: stopAgent },
    data: ({ changes }) => ({ ...(!clm.dryRun && { running: false }), changes }),
    told: ({ changes }, who) => {
      if (clm.dryRun) return would(changes, `${who}is stopped already`);
      return [
        `${who}${changes.length === 0 ? "was stopped already; nothing was changed" : "is stopped; its data stays"}`,
      ];
    },
  });
