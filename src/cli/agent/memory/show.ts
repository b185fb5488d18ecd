import type { Handler } from "../../command.js";
import type { show } from "./commands.js";
import { describe, readMemory, toJson } from "./view.js";

export const run: Handler<typeof show> = async ({ args }, clm) => {
  const copies = await readMemory(clm, args.name, args.file);
  clm.show(
    copies.map((copy) => ({ ...toJson(copy), text: copy.content?.text ?? null })),
    () => copies.map(describe).join("\n"),
  );
};
