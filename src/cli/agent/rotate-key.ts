import { type Rotated, rotateKey } from "../../flows/agent/rotate-key.js";
import type { Handler } from "../command.js";
import { onAgents } from "../many.js";
import { rotateKey as declared } from "./commands.js";
import { would } from "./tell.js";

export const run: Handler<typeof declared> = ({ args, options }, clm) =>
  onAgents(clm, {
    ...{ command: declared, words: args.names, options, work: rotateKey },
    data: ({ agent, ...seen }) => seen,
    told: (done, who) => (clm.dryRun ? would(done.changes) : told(done, who)),
  });

function told({ agent, reached, resumed }: Rotated, who: string): string[] {
  const begun = resumed ? ["the change of key that was begun earlier is finished"] : [];
  const next = `next: clm agent configure ${agent.word}`;
  if (reached === "agent") return [...begun, `${who}answers its new key and refuses the old one`];
  if (reached === "files")
    return [...begun, `${who}is stopped and has the new key in its files; it was not started`, next];
  return [...begun, `${who}has a new key here and does not have it on its host yet`, next];
}
