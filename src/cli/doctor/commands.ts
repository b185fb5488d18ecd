import { command, flag, number } from "../command.js";
import { changesOne, sudoOption } from "../shared-options.js";

export const doctorOptions = {
  fix: flag("fix what is safe to fix, and check again"),
  verbose: flag("show every check, also those that passed"),
  parallel: number("N", "how many hosts at once", { min: 1, max: 200, default: 32 }),
  ...sudoOption,
};

export const doctor = command({
  path: "doctor",
  summary: "diagnose this machine, hosts and agents, and fix what is safe to fix",
  description: `Checks this machine (config directory, records, programs), every host as clm host check does, and
every agent as clm agent doctor does. Each check has a stable id, a reason and a fix. An unreachable host is a failed
check; the others are still checked.

With --fix, files on this machine that others can read are made private, an agent with configuration drift is synced,
and one that should run but does not is started; then everything is checked again. For every other problem the command
that fixes it is printed.`,
  options: doctorOptions,
  ...changesOne,
  examples: [
    "clm doctor",
    "clm doctor --fix --dry-run   # what it would fix",
    "clm doctor -o json | jq '.[] | select(.result==\"fail\")'",
  ],
  load: () => import("./doctor.js"),
});
