import { levels } from "../../../agents/logs/line.js";
import { sources } from "../../../agents/logs/sources.js";
import { type Command, choice, command, flag, list, number, text } from "../../command.js";
import { doctoring } from "../../doctor/commands.js";
import { agentNames, choosing, sudo } from "../../recurring.js";

export const status = command({
  path: "agent status",
  summary: "show agents in full, as their hosts tell it now",
  description: `What clm ps shows in a row, and everything behind it: each proof with what to do about it, in what the agent is not as it was
configured, its channels, whether its provider can be reached from the host, who holds its port, the last error, and what to type next.
No model is asked. Ends with 0 when every agent named runs or is meant to be stopped, else with 1.`,
  args: { names: agentNames },
  options: {
    noDrift: flag("do not look whether it is as it was configured"),
    ...choosing,
    ...sudo,
  },
  formats: ["table", "json", "yaml", "name"],
  examples: [
    { run: "clm agent status hermes-test" },
    { run: "clm agent status --host wolf-i -o json | jq '.[].drift'" },
  ],
  load: () => import("./status.js"),
});

export const doctor = command({
  path: "agent doctor",
  summary: "find what is wrong with agents, and mend what is safe",
  description: `Asks the agent's host for everything that tells whether it is well: the proofs of clm agent configure but for the question that costs
tokens, whether it is as it was configured, its provider, its channels, disk, clock, memory, restarts, its secrets, and what its log
says since it was started. What is known to go wrong there is named, with what to do. What has been overcome does not alarm.

With --fix an agent that is not as it was configured is synced, and one that should run and does not is started; then it is looked
at again.`,
  args: { names: agentNames },
  options: { ...doctoring, ...choosing },
  formats: ["table", "json", "yaml"],
  mutates: true,
  examples: [
    { run: "clm agent doctor hermes-test" },
    { run: "clm agent doctor --all --fix" },
    { run: "clm agent doctor hermes-test --verbose", note: "every check" },
  ],
  load: () => import("./doctor.js"),
});

export const logs = command({
  path: "agent logs",
  summary: "show what agents say, from the journal and their own log files",
  description: `Merges the journal of each agent's unit and the log files it writes by time, and tells once what stands in several of them. What
belongs to a line, as a traceback, stays with it. Secrets that clm knows are taken out, however they are written there.

With --follow it goes on with what comes, through rotated files, restarted agents and lost connections, until Ctrl-C. Nothing is left
running on the hosts. Times are those of this machine's zone; -o json gives one object per line, with times in UTC.`,
  args: { names: agentNames },
  options: {
    follow: flag("go on with what comes", { short: "f" }),
    since: text("TIME", "from then on: 90s, 15m, 2h, 3d ago, or 09:30, 2026-11-16, '2026-11-16 09:30'"),
    until: text("TIME", "up to then"),
    lines: number("N", "the last N of each agent that are to be shown (default 100; with --since all)", {
      min: 0,
      max: 1_000_000,
      short: "n",
    }),
    level: choice("LEVEL", levels, "only what is at least as bad as that"),
    grep: text("REGEX", "only what matches; in lower case alone it matches both cases"),
    source: list("SOURCE", `only from there: ${sources.join(", ")} (repeatable)`),
    utc: flag("show times in UTC, and read those of --since and --until as such"),
    ...choosing,
    ...sudo,
  },
  formats: ["table", "json"],
  examples: [
    { run: "clm agent logs hermes-test" },
    { run: "clm agent logs hermes-test -f" },
    { run: "clm agent logs --all --since 1h --level warning" },
    { run: "clm agent logs 'web-*' --grep 'timed out|refused' -o json | jq -r .message" },
  ],
  load: () => import("./logs.js"),
});

/** How an agent is, what it says, and what is wrong with it. */
export const seeing: Command[] = [status, logs, doctor];
