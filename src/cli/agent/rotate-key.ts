import { type Rotated, rotateKey } from "../../flows/agent/rotate-key.js";
import { withSession } from "../../flows/session.js";
import { titleOf } from "../../state/agents.js";
import type { Handler } from "../command.js";
import type { rotateKey as declared } from "./commands.js";
import { tell, tellWould } from "./tell.js";

export const run: Handler<typeof declared> = async ({ args, options }, clm) => {
  const { sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => rotateKey(session, args.name));
  const { agent, ...seen } = done;
  if (clm.dryRun) tellWould(clm, seen.changes);
  else clm.ui.note(told(done));
  tell(clm, agent, seen, () => {});
  return undefined;
};

function told({ agent, reached, resumed }: Rotated): string {
  const title = titleOf(agent);
  const first = resumed ? `the change of key that was begun earlier is finished: ${title}` : title;
  if (reached === "agent") return `${first} answers its new key and refuses the old one`;
  if (reached === "files") {
    return `${first} is stopped and has the new key in its files; it was not started\nnext: clm agent configure ${agent.word}`;
  }
  return `${first} has a new key here, and gets it with: clm agent configure ${agent.word}`;
}
