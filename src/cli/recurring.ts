import { flag, list, number, required, rest, text } from "./command.js";

/** Words and options that many commands take, and that mean the same in each. */

export const agentName = required("the agent: NAME or HOST/NAME", "agent");

/** A password is never an argument: every user of a machine can read the arguments of every process on it. */
export const sudo = {
  sudoPasswordFile: text("FILE", "read the sudo password from FILE (or set CLM_SUDO_PASSWORD)", { completes: "file" }),
};

/** What a verb takes that can be done to many agents at once. */
export const agentNames = rest("agents: NAME, HOST/NAME, or a pattern such as 'web-*'", "agent");

export const choosing = {
  all: flag("every agent"),
  host: list("HOST", "agents on this host, or on hosts that match it (repeatable)", { completes: "host-pattern" }),
  label: list("KEY=VALUE", "agents on hosts with this label (repeat: with all of them)", { short: "l" }),
  type: text("TYPE", "agents of this type", { completes: "agent-type" }),
};

export const pacing = {
  parallel: number("N", "how many at once", { min: 1, max: 200, default: 16 }),
  maxFail: number("N", "begin no more when N have failed", { min: 1 }),
  continue: flag("go on with the others whatever fails, which is the default"),
};
