import type { Handler } from "../command.js";
import { chooseAgentsOrAll } from "../run-on-agents.js";
import type { diff } from "./commands.js";
import { tellDifferences } from "./differences.js";

export const run: Handler<typeof diff> = ({ args, options }, clm) =>
  tellDifferences(clm, chooseAgentsOrAll(clm, args.names, options), { ...options, lone: false });
