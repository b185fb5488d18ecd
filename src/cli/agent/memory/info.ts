import { readMemory } from "../../../flows/agent/memory/read.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { info } from "./commands.js";
import { infoView } from "./view.js";

export const run: Handler<typeof info> = async ({ args, options }, clm) => {
  const seen = await withSession({ ...clm, ...options }, (session) =>
    readMemory(session, args.name, args.file ?? "all"),
  );
  clm.list(seen, infoView(clm.now()));
  return undefined;
};
