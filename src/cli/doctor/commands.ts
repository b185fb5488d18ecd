import { command, flag, type Noun, number } from "../command.js";
import { sudo } from "../recurring.js";

/** What both take: for everything, and for agents alone. */
export const doctoring = {
  fix: flag("mend what is safe to mend, and look again"),
  verbose: flag("show every check, not only what is not well"),
  parallel: number("N", "how many hosts at once", { min: 1, max: 200, default: 32 }),
  ...sudo,
};

export const doctor = command({
  path: "doctor",
  summary: "find what is wrong with everything, and mend what is safe",
  description: `Checks this machine (its config directory, what is recorded, its programs), every host as clm host check does, and every agent as
clm agent doctor does. Each check has an id that stays, a reason, and what to do about it. A host that cannot be reached is a check
that failed; the others are looked at all the same.

With --fix what others can read on this machine is closed, an agent that is not as it was configured is synced, and one that should
run and does not is started; then everything is looked at again. Everything else is told with the command to type.`,
  options: doctoring,
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm doctor" },
    { run: "clm doctor --fix --dry-run", note: "what it would mend" },
    { run: "clm doctor -o json | jq '.[] | select(.result==\"fail\")'" },
  ],
  load: () => import("./doctor.js"),
});

export const doctorNoun: Noun = { name: "doctor", summary: doctor.summary, commands: [doctor] };
