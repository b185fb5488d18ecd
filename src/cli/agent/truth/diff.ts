import { isGlob } from "../../../wildcard.js";
import type { Handler } from "../../command.js";
import { tellDifferences } from "../../diff/differences.js";
import { chooseAgents } from "../../many.js";
import type { diff } from "./commands.js";

export const run: Handler<typeof diff> = ({ args: { names }, options }, clm) => {
  const lone = names.length === 1 && !names.some(isGlob);
  return tellDifferences(clm, chooseAgents(clm, names, options), { ...options, lone });
};
