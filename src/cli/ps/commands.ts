import { command, flag, number } from "../command.js";
import { manyAgents, manyAgentsOptions } from "../shared-options.js";

export const ps = command({
  path: "ps",
  summary: "show the live status of every agent",
  description: `Probes all hosts in parallel and shows for each agent whether it really works: its unit runs, its own
process holds its port on the loopback interface only, and its API accepts the agent's key and rejects requests
without it. No model is called, so it costs nothing. An agent that works but has a problem (provider unreachable,
channel not connected, disk full, configuration drift) is degraded, with the reason. An unreachable host is shown with
the reason and its last recorded status.

With --watch it repeats until Ctrl-C: on a terminal it redraws the table, otherwise it prints a line for each agent
and then one for each change. With -o json that is one object per line: first all agents, then an agent whenever its
status changes. Most probes are short ones (unit, port, health, files, channels, provider); a full probe follows every
change, and runs once a minute. In JSON seen_at is the time of the last probe of an agent, and proven_at the time its
API last accepted the key.

Exits with 0 when every agent runs or is stopped on purpose, otherwise with 1; --watch exits with 0.`,
  ...manyAgents,
  options: {
    watch: flag("repeat until Ctrl-C", { short: "w" }),
    every: number("SECONDS", "with --watch: seconds between two probes (default: 5)", { min: 1, max: 3600 }),
    noDrift: flag("do not check for configuration drift"),
    ...manyAgentsOptions,
  },
  examples: [
    "clm ps",
    "clm ps 'web-*' --label site=home",
    "clm ps --watch --every 2",
    "clm ps -o json | jq '.[] | select(.state!=\"running\")'",
    "clm ps --watch -o json | jq -r 'select(.state==\"failed\").agent'   # a line whenever an agent fails",
  ],
  load: () => import("./ps.js"),
});
