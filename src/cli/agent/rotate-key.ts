import { type Rotated, rotateKey } from "../../flows/agent/rotate-key.js";
import { withSession } from "../../flows/session.js";
import type { Handler } from "../command.js";
import type { rotateKey as declared } from "./commands.js";

export const run: Handler<typeof declared> = async ({ args, options }, clm) => {
  const { sudoPasswordFile } = options;
  const done = await withSession({ ...clm, sudoPasswordFile }, (session) => rotateKey(session, args.name));
  if (!done) return undefined;
  if (clm.format !== "table") clm.show(done, () => "");
  else clm.ui.note(told(done, args.name));
  return undefined;
};

function told({ agent, reached, resumed }: Rotated, name: string): string {
  const first = resumed ? `the change of key that was begun earlier is finished: ${agent}` : agent;
  if (reached === "agent") return `${first} answers its new key and refuses the old one`;
  if (reached === "files") {
    return `${first} is stopped and has the new key in its files; it was not started\nnext: clm agent configure ${name}`;
  }
  return `${first} has a new key here, and gets it with: clm agent configure ${name}`;
}
