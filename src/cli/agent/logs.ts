import type { Moment } from "../../agents/logs/script.js";
import { Fault } from "../../errors.js";
import { type AgentLogEntry, type LogReader, readLogs } from "../../flows/logs/logs.js";
import { withSession } from "../../flows/session.js";
import { jsonLines } from "../../ui/format.js";
import type { Handler } from "../command.js";
import { parseTime } from "../parse-time.js";
import { warnOf } from "../print-result.js";
import { chooseAgents } from "../run-on-agents.js";
import type { logs } from "./commands.js";
import { logLines, logObject } from "./log-lines.js";

/** Entries that are formatted and written at once. */
const atOnce = 1000;

export const run: Handler<typeof logs> = async ({ args, options }, clm) => {
  const { follow, level = "debug", utc } = options;
  const since = options.since === undefined ? undefined : parseTime("--since", options.since, { now: clm.now(), utc });
  const until = options.until === undefined ? undefined : parseTime("--until", options.until, { now: clm.now(), utc });
  if (follow && until) throw new Fault("usage", "--follow and --until contradict each other");
  if (since && until && secondsAt(since, clm.now()) > secondsAt(until, clm.now()))
    throw new Fault("bad-input", "--until is before --since");
  const grep = options.grep === undefined ? undefined : patternFrom(options.grep);
  const lines = options.lines ?? (since ? undefined : 100);
  const sources = options.source.length > 0 ? options.source : undefined;
  const agents = chooseAgents(clm, args.names, options);

  const line = logLines({ paint: clm.screen?.paint, utc, agents });
  const write = (entries: AgentLogEntry[]) =>
    clm.format === "json" ? clm.ui.data(entries.map(logObject), jsonLines) : clm.ui.out(entries.map(line).join(""));
  const several = agents.length > 1;
  let shown = 0;
  const faults: Fault[] = [];
  const reader: LogReader = {
    async entries(entries) {
      shown += entries.length;
      for (let at = 0; at < entries.length; at += atOnce) {
        // After Ctrl-C the rest is dropped.
        if (at > 0 && clm.signal.aborted) return;
        await write(entries.slice(at, at + atOnce));
      }
    },
    trouble(fault) {
      faults.push(fault);
      if (several) warnOf(clm, fault);
    },
  };
  if (follow) clm.untilStopped();
  await withSession(clm, (session) =>
    readLogs(session, agents, { sources, since, until, lines, level, grep, follow }, reader),
  );
  const [first] = faults;
  if (!several && first) throw first;
  if (!follow) clm.signal.throwIfAborted();
  if (shown === 0 && !follow && faults.length === 0 && clm.format === "table") clm.ui.note("No log entries match.");
  return Math.max(0, ...faults.map(({ exit }) => exit));
};

const secondsAt = (moment: Moment, now: Date): number =>
  "at" in moment ? moment.at : Math.floor(now.getTime() / 1000) - moment.ago;

/** Like journalctl: case is ignored unless the pattern has a capital letter. */
function patternFrom(text: string): RegExp {
  try {
    return new RegExp(text, /\p{Lu}/u.test(text) ? "" : "i");
  } catch (error) {
    throw new Fault("bad-input", `--grep ${text} is not a regular expression`, { why: (error as Error).message });
  }
}
