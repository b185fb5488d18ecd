import type { AgentResult } from "../../flows/agent/apply.js";
import { restartAgent, startAgent } from "../../flows/agent/start.js";
import { checkView } from "../agent-view.js";
import type { Context, Handler } from "../command.js";
import { dryRunLines } from "../print-result.js";
import { runOnAgents } from "../run-on-agents.js";
import * as declared from "./commands.js";

export const start: Handler<typeof declared.start> = (input, clm) =>
  runOnAgents(declared.start, input, clm, {
    ...printing(clm),
    run: (session, ref) => startAgent(session, ref, input.options),
    lines: ({ changes, proofs }, subject) => {
      if (clm.dryRun) return dryRunLines(changes, `${subject}is running already`);
      const how = changes.length === 0 ? "was running already; nothing was changed" : "is started";
      return [`${subject}${unanswered(proofs) ?? how}`];
    },
  });

export const restart: Handler<typeof declared.restart> = (input, clm) =>
  runOnAgents(declared.restart, input, clm, {
    ...printing(clm),
    run: (session, ref) => restartAgent(session, ref, input.options),
    lines: ({ changes, proofs }, subject) =>
      clm.dryRun ? dryRunLines(changes) : [`${subject}${unanswered(proofs) ?? "is restarted"}`],
  });

const unanswered = (proofs: AgentResult["proofs"]): string | undefined =>
  proofs.some(({ result }) => result === "fail") ? "runs, but does not answer" : undefined;

const printing = (clm: Context) => ({
  json: ({ changes, proofs }: AgentResult) => ({ ...(!clm.dryRun && { running: true }), changes, proofs }),
  print: ({ proofs }: AgentResult) => clm.list(proofs, checkView),
});
