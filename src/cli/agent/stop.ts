import { strayFix } from "../../agents/probe/status/troubles.js";
import { type StopResult, stopAgent } from "../../flows/agent/stop.js";
import type { Handler } from "../command.js";
import { dryRunLines } from "../print-result.js";
import { runOnAgents } from "../run-on-agents.js";
import { stop } from "./commands.js";

/** Silent for an agent that was taken over: its account may be a person's, with processes of their own. */
function strayLines({ agent, strays: { count, first } }: StopResult, dryRun: boolean): string[] {
  if (count === 0 || agent.record.mark === undefined) return [];
  const named = first.map(({ pid, command }) => `  pid ${pid}: ${command}`);
  const what = count === 1 ? "a process" : `${count} processes`;
  const how = dryRun ? "runs" : "still runs";
  return [
    `${what} of ${agent.record.user} ${count === 1 ? how : how.replace("runs", "run")} outside its unit; to end: ${strayFix(agent.ref)}`,
    ...named,
  ];
}

export const run: Handler<typeof stop> = ({ args, options }, clm) =>
  runOnAgents(stop, { args, options }, clm, {
    run: async (session, ref) => {
      const done = await stopAgent(session, ref, { now: options.now, strays: options.strays });
      for (const line of strayLines(done, clm.dryRun)) session.ui.warn(line);
      return done;
    },
    json: ({ changes, strays }) => ({
      ...(!clm.dryRun && { running: false }),
      changes,
      strays: strays.first,
      strays_total: strays.count,
    }),
    lines: ({ changes }, subject) => {
      if (clm.dryRun) return dryRunLines(changes, `${subject}is stopped already`);
      return [
        `${subject}${changes.length === 0 ? "was stopped already; nothing was changed" : "is stopped; its data is kept"}`,
      ];
    },
  });
