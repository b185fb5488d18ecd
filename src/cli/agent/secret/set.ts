import { dotenvFile } from "../../../agents/files/dotenv.js";
import { Fault } from "../../../errors.js";
import { mustBeFree, remarksOn } from "../../../flows/agent/secret/allowed.js";
import { parseSource, type SecretSource, secretFrom } from "../../../flows/secret-source.js";
import { agentId } from "../../../state/agents.js";
import type { Handler } from "../../command.js";
import { changeAndPrint } from "./change-and-print.js";
import type { set } from "./commands.js";

export const run: Handler<typeof set> = async ({ args: { name, key }, options }, clm) => {
  const source = sourceOf(options.from, options.stdin);
  await changeAndPrint(clm, name, options, async (session, target) => {
    mustBeFree(session, target, key);
    const value = await secretFrom(session, source, { what: `the value of ${key}`, flag: "--from env:VARIABLE" });
    const values = new Map([[key, value]]);
    // Throws now, and not when it is applied, if .env cannot contain the value.
    dotenvFile(values);
    const { stripped, texts } = remarksOn(target, [key]);
    for (const text of texts) session.ui.warn(text);
    return { verb: "agent secret set", summary: `set ${key} of ${agentId(target.agent)}`, values, stripped };
  });
};

function sourceOf(from: string | undefined, stdin: boolean): SecretSource {
  if (from !== undefined && stdin) throw new Fault("usage", "--stdin and --from contradict each other");
  if (from !== undefined) return parseSource(from);
  return { kind: stdin ? "stdin" : "prompt" };
}
