import { type Rotated, rotateKey } from "../../flows/agent/rotate-key.js";
import type { Handler } from "../command.js";
import { onAgents } from "../many.js";
import { rotateKey as declared } from "./commands.js";
import { would } from "./tell.js";

export const run: Handler<typeof declared> = ({ args, options }, clm) =>
  onAgents(clm, {
    command: declared,
    words: args.names,
    options,
    work: rotateKey,
    data: ({ agent, ...seen }) => seen,
    told: (done, who) => (clm.dryRun ? would(done.changes) : told(done, who)),
  });

function told({ agent, reached, resumed }: Rotated, who: string): string[] {
  const begun = resumed ? ["the interrupted key rotation is finished"] : [];
  const next = `next: clm agent configure ${agent.ref}`;
  if (reached === "agent") return [...begun, `${who}accepts its new key and rejects the old one`];
  if (reached === "files")
    return [...begun, `${who}is stopped; the new key is in its files, and it was not started`, next];
  return [...begun, `${who}has a new key on this machine, but not on its host yet`, next];
}
