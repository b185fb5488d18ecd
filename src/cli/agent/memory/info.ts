import type { Handler } from "../../command.js";
import type { info } from "./commands.js";
import { infoView, readMemory } from "./view.js";

export const run: Handler<typeof info> = async ({ args }, clm) => {
  clm.list(await readMemory(clm, args.name, args.file), infoView(clm.now()));
};
