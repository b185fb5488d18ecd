import { enableProxy } from "../../../flows/agent/proxy/enable.js";
import type { Handler } from "../../command.js";
import { dryRunLines } from "../../print-result.js";
import { runOnAgents } from "../../run-on-agents.js";
import { enable } from "./commands.js";
import { howToReach, toJson } from "./view.js";

export const run: Handler<typeof enable> = ({ args, options }, clm) =>
  runOnAgents(enable, { args, options }, clm, {
    run: (session, ref) => enableProxy(session, ref, options.provider),
    json: ({ agent, proxy, changes, upstream }) => ({
      proxy: toJson(agent, proxy),
      ...(upstream && { upstream }),
      changes,
    }),
    lines: ({ agent, proxy, changes }, subject) => {
      const lends = `${subject}lends its login at ${proxy.provider}`;
      if (clm.dryRun) return dryRunLines(changes, `${lends} already`);
      const how = changes.length === 0 ? " already; nothing was changed" : `: ${proxy.unit}, port ${proxy.port}`;
      return [`${lends}${how}`, ...howToReach(agent, proxy)];
    },
  });
