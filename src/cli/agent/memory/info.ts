import type { Handler } from "../../command.js";
import type { info } from "./commands.js";
import { infoView, readMemory } from "./view.js";

export const run: Handler<typeof info> = async (invocation, clm) => {
  clm.list(await readMemory(invocation, clm), infoView(clm.now()));
};
