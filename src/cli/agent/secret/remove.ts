import { storeAndApply } from "../../../flows/agent/secret/apply.js";
import { removeSecret } from "../../../flows/agent/secret/remove.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { remove } from "./commands.js";
import { printStored } from "./print-stored.js";

export const run: Handler<typeof remove> = async ({ args, options }, clm) => {
  const { apply, sudoPasswordFile } = options;
  const { name, key } = args;
  const stored = await withSession({ ...clm, sudoPasswordFile }, (session) =>
    storeAndApply(session, name, () => removeSecret(session, name, key), { apply, verb: "agent secret remove" }),
  );
  printStored(clm, stored, apply);
};
