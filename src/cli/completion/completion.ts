import type { Handler } from "../command.js";
import type { completion } from "./commands.js";
import { scripts } from "./scripts.js";

export const run: Handler<typeof completion> = async ({ args }, clm) => {
  clm.ui.out(scripts[args.shell]);
  return undefined;
};
