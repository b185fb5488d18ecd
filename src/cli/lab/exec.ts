import { enter } from "../../lab/lab.js";
import type { Handler } from "../command.js";
import type { exec } from "./commands.js";

const aDay = 24 * 3600 * 1000;

export const run: Handler<typeof exec> = ({ args }, clm) => {
  // Ctrl-C also reaches the command in the lab, which may handle it and continue.
  clm.mayTakeToStop(aDay);
  return enter(args.host, args.command);
};
