import { command } from "../command.js";
import { agentFilters, batchOptions, manyAgents, sudoOption } from "../shared-options.js";

export const diff = command({
  path: "diff",
  summary: "show configuration drift in the fleet",
  description: `Like 'clm agent diff', for every agent or for the named ones. Changes nothing. Exits with 0 when
nothing differs, with 3 when something does, and with another code when an agent could not be compared.`,
  ...manyAgents,
  options: { ...agentFilters, parallel: batchOptions.parallel, ...sudoOption },
  examples: ["clm diff", "clm diff --label site=home", "clm diff -o name   # only the names of agents that differ"],
  load: () => import("./diff.js"),
});
