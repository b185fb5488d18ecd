import { Fault } from "../../../errors.js";
import { storeAndApply } from "../../../flows/agent/secret/apply.js";
import { setSecret } from "../../../flows/agent/secret/set.js";
import { parseSource, type SecretSource } from "../../../flows/secret-source.js";
import { withSession } from "../../../flows/session.js";
import type { Handler } from "../../command.js";
import type { set } from "./commands.js";
import { printStored } from "./print-stored.js";

export const run: Handler<typeof set> = async ({ args, options }, clm) => {
  const { from, stdin, apply, sudoPasswordFile } = options;
  const source = sourceOf(from, stdin);
  const { name, key } = args;
  const stored = await withSession({ ...clm, sudoPasswordFile }, (session) =>
    storeAndApply(session, name, () => setSecret(session, name, key, source), { apply, verb: "agent secret set" }),
  );
  printStored(clm, stored, apply);
};

function sourceOf(from: string | undefined, stdin: boolean): SecretSource {
  if (from !== undefined && stdin) throw new Fault("usage", "--stdin and --from are two places for one value");
  if (from !== undefined) return parseSource(from);
  return { kind: stdin ? "stdin" : "prompt" };
}
