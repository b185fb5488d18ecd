import { command, type Noun } from "../command.js";
import { agentNames, choosing, pacing, sudo } from "../recurring.js";

export const diff = command({
  path: "diff",
  summary: "show what in the fleet is not as it was configured",
  description: `The same as 'clm agent diff' for every agent, or for those that are named. Changes nothing. Exits with 0 when nothing differs,
with 3 when something does, and with another code when that cannot be told of an agent.`,
  args: { names: agentNames },
  options: { ...choosing, parallel: pacing.parallel, ...sudo },
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm diff" },
    { run: "clm diff --label site=home" },
    { run: "clm diff -o name", note: "only the names of those that differ" },
  ],
  load: () => import("./diff.js"),
});

export const diffNoun: Noun = { name: "diff", summary: diff.summary, commands: [diff] };
