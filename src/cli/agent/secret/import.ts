import { Fault } from "../../../errors.js";
import { storeAndApply } from "../../../flows/agent/secret/apply.js";
import { importSecrets } from "../../../flows/agent/secret/import.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { importFile } from "./commands.js";
import { printStored } from "./print-stored.js";

export const run: Handler<typeof importFile> = async ({ args, options }, clm) => {
  const { file, apply, sudoPasswordFile } = options;
  const { name } = args;
  if (file === undefined) {
    throw new Fault("usage", "say which file to import: --file PATH", { next: "clm agent secret import --help" });
  }
  const stored = await withSession({ ...clm, sudoPasswordFile }, (session) =>
    storeAndApply(session, name, () => importSecrets(session, name, file), { apply, verb: "agent secret import" }),
  );
  printStored(clm, stored, apply);
};
