import { command, flag, number, text } from "../command.js";

export const audit = command({
  path: "audit",
  summary: "show what was changed, when and by whom",
  description: `Every command that changes something writes one line when it begins and one when it ends. Each line
contains the hash of the previous one, so a changed or deleted line is detected: --verify checks the whole chain and
exits with 30 when it is broken.`,
  options: {
    verify: flag("check that no line was changed or removed"),
    last: number("N", "only the last N entries", { min: 1 }),
    target: text("NAME", "only changes to this host or agent", { completes: "host" }),
  },
  formats: ["table", "json", "yaml"],
  examples: ["clm audit --last 20", "clm audit --target wolf-i -o json", "clm audit --verify"],
  load: () => import("./audit.js"),
});
