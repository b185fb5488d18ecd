import { Fault } from "../../errors.js";
import { apiKeyOf, mustHaveKey, mustHaveOneKey } from "../../flows/agent/api-key.js";
import { targetOf } from "../../flows/agent/target.js";
import { quote } from "../../quote.js";
import { agentId, hostAndName } from "../../state/agents.js";
import type { Handler } from "../command.js";
import type { key } from "./commands.js";

export const run: Handler<typeof key> = async ({ args, options }, clm) => {
  const { ui } = clm;
  if (ui.watched && !options.show && !clm.dryRun) {
    throw new Fault("usage", "the key would stay visible on this terminal", {
      why: `use it in a pipe or another command: "$(clm agent key ${quote(args.name)})"; to print it here, add --show`,
      next: `clm agent key ${quote(args.name)} --show`,
    });
  }
  await clm.withSession(async (session) => {
    const { agent, resolved } = await targetOf(session, args.name);
    const keyRef = mustHaveKey(agent, resolved.manifest);
    mustHaveOneKey(session, keyRef);
    const { key } = apiKeyOf(session, keyRef);
    const action = { verb: "agent key", target: hostAndName(agent), summary: `show the key of ${agentId(agent)}` };
    // Through the gate: the audit log has the line before the key is printed.
    await session.gate.pass(action, async () => ui.handOut(key, options.header ? "Authorization: Bearer " : ""));
  });
};
