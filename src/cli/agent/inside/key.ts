import { Fault } from "../../../errors.js";
import { showKey } from "../../../flows/agent/show-key.js";
import { withSession } from "../../../flows/session.js";
import { quote } from "../../../quote.js";
import type { Handler } from "../../command.js";
import type { key } from "./commands.js";

export const run: Handler<typeof key> = async ({ args, options }, clm) => {
  const { ui } = clm;
  if (ui.watched && !options.show && !clm.dryRun) {
    throw new Fault("usage", "the key would stay on this terminal for everybody to see", {
      why: `it is meant for a pipe or another command: "$(clm agent key ${quote(args.name)})"; --show says that you want to see it`,
      next: `clm agent key ${quote(args.name)} --show`,
    });
  }
  await withSession(clm, (session) =>
    showKey(session, args.name, (secret) => ui.handOut(secret, options.header ? "Authorization: Bearer " : "")),
  );
  return 0;
};
