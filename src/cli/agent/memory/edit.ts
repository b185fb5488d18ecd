import { editMemory } from "../../../flows/agent/memory/edit.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { edit } from "./commands.js";
import { printResult } from "./view.js";

export const run: Handler<typeof edit> = async ({ args }, clm) => {
  const editing = { file: args.file, yes: clm.yes };
  printResult(clm, await withSession(clm, (session) => editMemory(session, args.name, editing)));
};
