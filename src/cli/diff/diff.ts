import type { Handler } from "../command.js";
import { chooseAgents } from "../many.js";
import type { diff } from "./commands.js";
import { tellDifferences } from "./differences.js";

export const run: Handler<typeof diff> = ({ args: { names }, options }, clm) => {
  const { all, host, label, type } = options;
  const some = names.length + host.length + label.length > 0 || type !== undefined;
  const agents = chooseAgents(clm, names, { all: all || !some, host, label, type });
  return tellDifferences(clm, agents, { ...options, lone: false });
};
