import { command, flag, type Noun, number, text } from "../command.js";

export const audit = command({
  path: "audit",
  summary: "show what was changed, when and by whom",
  description: `Every command that changes something writes a line when it begins and one when it ends. Each line holds the hash of the one
before, so a line that was changed or taken out shows: --verify looks at the whole chain and ends with 30 when it is broken.`,
  options: {
    verify: flag("check that no line was changed or removed"),
    last: number("N", "only the last N entries", { min: 1 }),
    target: text("NAME", "only what was done to this host or agent", { completes: "host" }),
  },
  formats: ["table", "json", "yaml"],
  examples: [
    { run: "clm audit --last 20" },
    { run: "clm audit --target wolf-i -o json" },
    { run: "clm audit --verify" },
  ],
  load: () => import("./audit.js"),
});

export const auditNoun: Noun = { name: "audit", summary: audit.summary, commands: [audit] };
