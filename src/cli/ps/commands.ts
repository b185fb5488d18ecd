import { command, type Noun } from "../command.js";
import { agentNames, choosing, sudo } from "../recurring.js";

export const ps = command({
  path: "ps",
  summary: "show how every agent is, as its host tells it now",
  description: `Asks all hosts at once and shows of each agent whether it really answers: its unit is up, its port is held by its own process on the
loopback alone, its API is closed to everybody without its key and open to its own. No model is asked, so it costs nothing.
An agent that answers and lacks something (its provider cannot be reached, a channel is not connected, the disk is full) is degraded,
and the reason is told. A host that cannot be asked is shown with why.`,
  args: { names: agentNames },
  options: { ...choosing, ...sudo },
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm ps" },
    { run: "clm ps 'web-*' --label site=home" },
    { run: "clm ps -o json | jq '.[] | select(.state!=\"running\")'" },
  ],
  load: () => import("./ps.js"),
});

export const psNoun: Noun = { name: "ps", summary: ps.summary, commands: [ps] };
