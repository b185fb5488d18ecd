import type { Handler } from "../command.js";
import { printDifferences } from "../diff/diff.js";
import { chooseAgents, namesOneAgent } from "../run-on-agents.js";
import type { diff } from "./commands.js";

export const run: Handler<typeof diff> = ({ args: { names }, options }, clm) => {
  return printDifferences(clm, chooseAgents(clm, names, options), { ...options, lone: namesOneAgent(names) });
};
