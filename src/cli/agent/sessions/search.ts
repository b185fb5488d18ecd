import { Fault } from "../../../errors.js";
import { searchSessions } from "../../../flows/agent/sessions/sessions.js";
import { withSession } from "../../../flows/session.js";
import { plain } from "../../../ui/plain.js";
import type { Handler } from "../../command.js";
import type { search } from "./commands.js";
import { filterFrom, hitView } from "./view.js";

export const run: Handler<typeof search> = async ({ args, options }, clm) => {
  if (args.text.trim() === "") throw new Fault("usage", "the text to search for is empty");
  const filter = filterFrom(options, clm);
  const hits = await withSession(clm, (session) => searchSessions(session, args.name, args.text, filter));
  clm.list(
    hits,
    hitView(args.text, (text) => clm.ui.redact(plain(text)), `no message of ${args.name} matches`),
  );
};
