import { status as labStatus } from "../../lab/lab.js";
import type { Handler } from "../command.js";
import type { status } from "./commands.js";
import { labRows, labView } from "./view.js";

export const run: Handler<typeof status> = async ({ options }, clm) => {
  const labs = await labStatus(options.name);
  clm.list(labs.flatMap(labRows), labView);
};
