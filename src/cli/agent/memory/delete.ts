import { Fault } from "../../../errors.js";
import { deleteMemory } from "../../../flows/agent/memory/delete.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  const { all } = options;
  if (all === (args.file !== undefined)) {
    throw new Fault("usage", all ? "--all goes with no FILE" : "say which file to delete, or --all", {
      next: "clm agent memory delete --help",
    });
  }
  const deleted = await withSession(clm, (session) => deleteMemory(session, args.name, args.file));
  if (clm.dryRun) return undefined;
  const what =
    deleted.length > 0 ? `${deleted.join(" and ")} of ${args.name} is deleted` : "there was nothing to delete";
  clm.ui.note(what);
};
