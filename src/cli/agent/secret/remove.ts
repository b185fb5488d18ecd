import { Fault } from "../../../errors.js";
import { mustBeFree } from "../../../flows/agent/secret/allowed.js";
import { agentId, secretOwner } from "../../../state/agents.js";
import { didYouMean } from "../../../text/nearest.js";
import type { Handler } from "../../command.js";
import { changeAndPrint } from "./change-and-print.js";
import type { remove } from "./commands.js";

export const run: Handler<typeof remove> = ({ args: { name, key }, options }, clm) =>
  changeAndPrint(clm, name, options, (session, target) => {
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
