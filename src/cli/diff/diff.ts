import { agentsOf } from "../../state/agents.js";
import { hostStore } from "../../state/hosts.js";
import type { Handler } from "../command.js";
import { chooseAgents } from "../many.js";
import type { diff } from "./commands.js";
import { tellDifferences } from "./differences.js";

export const run: Handler<typeof diff> = ({ args: { names }, options }, clm) => {
  const { all, host, label, type } = options;
  const some = names.length + host.length + label.length > 0 || type !== undefined;
  const isEmpty = agentsOf(hostStore(clm.configDir).read()).length === 0;
  const agents = isEmpty && !some ? [] : chooseAgents(clm, names, { all: all || !some, host, label, type });
  return tellDifferences(clm, agents, { ...options, lone: false });
};
