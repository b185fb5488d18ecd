import { command, flag, type Noun, number } from "../command.js";
import { agentNames, choosing, sudo } from "../recurring.js";

export const ps = command({
  path: "ps",
  summary: "show how every agent is, as its host tells it now",
  description: `Asks all hosts at once and shows of each agent whether it really answers: its unit is up, its port is held by its own process on the
loopback alone, its API is closed to everybody without its key and open to its own. No model is asked, so it costs nothing.
An agent that answers and lacks something (its provider cannot be reached, a channel is not connected, the disk is full, it is not as it
was configured) is degraded, and the reason is told. A host that cannot be asked is shown with why, and with what was last seen there.

With --watch it goes on until Ctrl-C: on a terminal it draws the table anew, elsewhere it prints a line for each agent and then one for
each change. With -o json that is one object per line: all agents first, then an agent whenever something about it changes. Most looks are
short ones (unit, port, health, files, channels, provider); as soon as one sees a change, and once a minute, the whole look follows.
In JSON seen_at is when an agent was last looked at, and proven_at when it was last asked with its key.

Ends with 0 when every agent runs or is meant to be stopped, else with 1; --watch ends with 0.`,
  args: { names: agentNames },
  options: {
    watch: flag("look again and again until Ctrl-C", { short: "w" }),
    every: number("SECONDS", "watch, with so long from one look to the next (default: 5)", { min: 1, max: 3600 }),
    noDrift: flag("do not look whether agents are as they were configured"),
    ...choosing,
    ...sudo,
  },
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm ps" },
    { run: "clm ps 'web-*' --label site=home" },
    { run: "clm ps --watch --every 2" },
    { run: "clm ps -o json | jq '.[] | select(.state!=\"running\")'" },
    { run: "clm ps --watch -o json | jq -r 'select(.state==\"failed\").agent'", note: "a line whenever one fails" },
  ],
  load: () => import("./ps.js"),
});

export const psNoun: Noun = { name: "ps", summary: ps.summary, commands: [ps] };
