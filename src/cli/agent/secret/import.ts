import { dotenvFile } from "../../../agents/files/dotenv.js";
import { Fault } from "../../../errors.js";
import { mustBeFree, remarksOn } from "../../../flows/agent/secret/allowed.js";
import { secretsIn } from "../../../flows/agent/secret/env-file.js";
import { readPrivateFile } from "../../../flows/secret-source.js";
import type { Session } from "../../../flows/session.js";
import { agentId, secretOwner } from "../../../state/agents.js";
import type { Handler } from "../../command.js";
import { usage } from "../../usage.js";
import { changeAndPrint } from "./change-and-print.js";
import type { importFile } from "./commands.js";

export const run: Handler<typeof importFile> = async ({ args: { name }, options }, clm) => {
  const { file } = options;
  if (file === undefined) throw usage("clm agent secret import", "--file is missing: name the file to import");
  await changeAndPrint(clm, name, options, async (session, target) => {
    const { ui, secrets } = session;
    const { agent } = target;
    const values = secretsIn(file, await fileFrom(session, file));
    for (const value of values.values()) ui.hide(value);
    if (values.size === 0) throw new Fault("bad-input", `${file} contains no secrets`);
    for (const key of values.keys()) mustBeFree(session, target, key);
    dotenvFile(values);
    const { stripped, texts } = remarksOn(target, values.keys());
    for (const text of texts) ui.warn(text);
    const known = secrets.names(secretOwner(agent));
    const names = [...values.keys()].map((key) => (known.includes(key) ? `${key} (replaced)` : key)).join(", ");
    return {
      verb: "agent secret import",
      summary: `set ${names} of ${agentId(agent)}`,
      question: `Set ${names} of ${agentId(agent)}?`,
      values,
      stripped,
    };
  });
};

const maxBytes = 1024 * 1024;

const fileFrom = (session: Session, path: string): Promise<string> =>
  readPrivateFile(session, path, {
    maxBytes,
    tooLong: "it is larger than 1 MB",
    failed: (why, cause) => new Fault("bad-input", `${path} cannot be read`, { why, cause }),
  });
