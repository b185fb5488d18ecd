import { Fault } from "../../../errors.js";
import { mustBeFree } from "../../../flows/agent/secret/allowed.js";
import { changeSecrets } from "../../../flows/agent/secret/change.js";
import { withSession } from "../../../flows/session.js";
import { agentId, secretOwner } from "../../../state/agents.js";
import { didYouMean } from "../../../text/nearest.js";
import type { Handler } from "../../command.js";
import type { remove } from "./commands.js";
import { printStored } from "./print-stored.js";

export const run: Handler<typeof remove> = async ({ args: { name, key }, options }, clm) => {
  const { apply, sudoPasswordFile } = options;
  await withSession({ ...clm, sudoPasswordFile }, async (session) => {
    const result = await changeSecrets(session, name, apply, (target) => {
      mustBeFree(session, target, key);
      const { agent } = target;
      const names = session.secrets.names(secretOwner(agent));
      if (!names.includes(key)) {
        throw new Fault("not-found", `${agentId(agent)} has no secret ${key}`, {
          ...didYouMean(key, names),
          next: `clm agent secret list ${agent.ref}`,
        });
      }
      return {
        verb: "agent secret remove",
        summary: `remove ${key} of ${agentId(agent)}`,
        question: `Remove ${key} of ${agentId(agent)}?`,
        values: new Map([[key, undefined]]),
      };
    });
    printStored(clm, result, apply);
  });
};
