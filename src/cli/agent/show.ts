import { findAgent } from "../../state/agents.js";
import { hostStore } from "../../state/hosts.js";
import { providerStore } from "../../state/providers.js";
import { agentData, describeAgent, nextCommand } from "../agent-view.js";
import type { Handler } from "../command.js";
import type { show } from "./commands.js";

export const run: Handler<typeof show> = async ({ args }, clm) => {
  const fleet = hostStore(clm.configDir).read();
  const known = providerStore(clm.configDir).read();
  const agent = findAgent(fleet, args.name);
  const next = nextCommand(agent);
  clm.show({ ...agentData(agent, known), next }, () => describeAgent(agent, known, next));
};
