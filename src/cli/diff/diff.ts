import type { Handler } from "../command.js";
import { chooseAgentsOrAll } from "../run-on-agents.js";
import type { diff } from "./commands.js";
import { printDifferences } from "./differences.js";

export const run: Handler<typeof diff> = ({ args, options }, clm) =>
  printDifferences(clm, chooseAgentsOrAll(clm, args.names, options), { ...options, lone: false });
