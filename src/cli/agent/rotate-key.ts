import { type RotateResult, rotateKey } from "../../flows/agent/rotate-key.js";
import type { Handler } from "../command.js";
import { dryRunLines } from "../print-result.js";
import { runOnAgents } from "../run-on-agents.js";
import { rotateKey as declared } from "./commands.js";

export const run: Handler<typeof declared> = ({ args, options }, clm) =>
  runOnAgents(declared, { args, options }, clm, {
    run: rotateKey,
    json: ({ agent, ...result }) => result,
    lines: (done, subject) => (clm.dryRun ? dryRunLines(done.changes) : resultLines(done, subject)),
  });

function resultLines({ agent, reached, resumed }: RotateResult, subject: string): string[] {
  const finished = resumed ? ["the interrupted key rotation is finished"] : [];
  const next = `next: clm agent configure ${agent.ref}`;
  if (reached === "agent") return [...finished, `${subject}accepts its new key and rejects the old one`];
  if (reached === "files")
    return [...finished, `${subject}is stopped; the new key is in its files, and it was not started`, next];
  return [...finished, `${subject}has a new key on this machine, but not on its host yet`, next];
}
