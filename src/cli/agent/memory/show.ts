import { readMemory } from "../../../flows/agent/memory/read.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { show } from "./commands.js";
import { described, machine } from "./view.js";

export const run: Handler<typeof show> = async ({ args, options }, clm) => {
  const seen = await withSession({ ...clm, ...options }, (session) =>
    readMemory(session, args.name, args.file ?? "all"),
  );
  clm.show(
    seen.map((each) => ({ ...machine(each), text: each.found?.bytes.toString("utf8") ?? null })),
    () => seen.map(described).join("\n"),
  );
  return undefined;
};
