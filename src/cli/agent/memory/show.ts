import type { Handler } from "../../command.js";
import type { show } from "./commands.js";
import { describe, readMemory, toJson } from "./view.js";

export const run: Handler<typeof show> = async (invocation, clm) => {
  const copies = await readMemory(invocation, clm);
  clm.show(
    copies.map((copy) => ({ ...toJson(copy), text: copy.content?.text ?? null })),
    () => copies.map(describe).join("\n"),
  );
};
