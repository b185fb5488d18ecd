import { required, text } from "./command.js";

/** Words and options that many commands take, and that mean the same in each. */

export const agentName = required("the agent: NAME or HOST/NAME", "agent");

/** A password is never an argument: every user of a machine can read the arguments of every process on it. */
export const sudo = {
  sudoPasswordFile: text("FILE", "read the sudo password from FILE (or set CLM_SUDO_PASSWORD)", { completes: "file" }),
};
