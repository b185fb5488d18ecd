import { listSessions } from "../../../flows/agent/sessions/sessions.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import { parseTimeAsSeconds } from "../../parse-time.js";
import type { list } from "./commands.js";
import { sessionView } from "./view.js";

export const run: Handler<typeof list> = async ({ args, options }, clm) => {
  const { limit, source, sudoPasswordFile } = options;
  const filter = {
    limit,
    source,
    since: options.since === undefined ? undefined : parseTimeAsSeconds("--since", options.since, clm.now()),
  };
  const found = await withSession({ ...clm, sudoPasswordFile }, (session) => listSessions(session, args.name, filter));
  const narrowed = source !== undefined || options.since !== undefined;
  clm.list(found, sessionView(clm.now(), narrowed ? "no session matches" : `${args.name} has no sessions yet`));
};
