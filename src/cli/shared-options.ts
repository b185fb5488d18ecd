import { flag, list, number, obsoleteFlag, required, rest, text } from "./command.js";

export const agentName = required("the agent: NAME or HOST/NAME", "agent");

/** A password is never an argument: every user of a machine can read the arguments of every process on it. */
export const sudoOption = {
  sudoPasswordFile: text("FILE", "read the sudo password from FILE (or set CLM_SUDO_PASSWORD)", { completes: "file" }),
};

export const agentNames = rest("agents: NAME, HOST/NAME, or a pattern such as 'web-*'", "agent");

export const agentFilters = {
  all: flag("every agent"),
  host: list("HOST", "agents on this host, or on hosts matching this pattern (repeatable)", {
    completes: "host-pattern",
  }),
  label: list("KEY=VALUE", "agents on hosts with this label (repeat: hosts with all of them)", { short: "l" }),
  type: text("TYPE", "agents of this type", { completes: "agent-type" }),
};

export const batchOptions = {
  parallel: number("N", "agents to work on at the same time", { min: 1, max: 200, default: 16 }),
  maxFail: number("N", "stop starting new ones after N failures", { min: 1 }),
  continue: obsoleteFlag("continue with the others after a failure"),
};

/** Of verbs that change something and print the result: one value, or things that have names. */
export const changesOne = { formats: ["table", "json", "yaml"] as const, mutates: true };
export const changesNamed = { formats: ["table", "json", "yaml", "name"] as const, mutates: true };

/** Of verbs that look at several agents. */
export const manyAgents = { args: { names: agentNames }, formats: changesNamed.formats };
export const manyAgentsOptions = { ...agentFilters, ...sudoOption };

/** Of verbs that change several agents. */
export const changeAgents = { ...manyAgents, mutates: true };
export const changeAgentsOptions = { ...agentFilters, ...batchOptions, ...sudoOption };
