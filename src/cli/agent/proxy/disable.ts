import { disableProxy } from "../../../flows/agent/proxy/disable.js";
import type { Handler } from "../../command.js";
import { dryRunLines } from "../../print-result.js";
import { runOnAgents } from "../../run-on-agents.js";
import { disable } from "./commands.js";

export const run: Handler<typeof disable> = ({ args, options }, clm) =>
  runOnAgents(disable, { args, options }, clm, {
    run: (session, ref) => disableProxy(session, ref),
    json: ({ changes }) => ({ changes }),
    lines: ({ changes }, subject) => {
      if (clm.dryRun) return dryRunLines(changes, `${subject}has no proxy`);
      if (changes.length === 0) return [`${subject}has no proxy; nothing was changed`];
      return [`${subject}no longer lends its login; it stays logged in`];
    },
  });
