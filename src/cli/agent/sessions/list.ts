import { listSessions } from "../../../flows/agent/sessions/sessions.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { list } from "./commands.js";
import { filterFrom, sessionView } from "./view.js";

export const run: Handler<typeof list> = async ({ args, options }, clm) => {
  const { source, since } = options;
  const filter = filterFrom(options, clm);
  const found = await withSession(clm, (session) => listSessions(session, args.name, filter));
  const narrowed = source !== undefined || since !== undefined;
  clm.list(found, sessionView(clm.now(), narrowed ? "no session matches" : `${args.name} has no sessions yet`));
};
