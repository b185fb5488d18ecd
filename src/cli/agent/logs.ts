import { type Level, splitLogger } from "../../agents/logs/entry.js";
import type { Moment } from "../../agents/logs/script.js";
import { Fault } from "../../errors.js";
import { type AgentLogEntry, type LogReader, readLogs } from "../../flows/logs/logs.js";
import { type Agent, hostAndName } from "../../state/agents.js";
import { padded } from "../../ui/columns.js";
import { jsonLines } from "../../ui/format.js";
import type { Paint } from "../../ui/paint.js";
import { plain } from "../../ui/plain.js";
import type { Handler } from "../command.js";
import { parseTime } from "../parse-time.js";
import { warnOf } from "../print-result.js";
import { chooseAgents } from "../run-on-agents.js";
import type { logs } from "./commands.js";

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
  await clm.withSession((session) =>
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

interface LineOptions {
  /** Absent without colours. */
  paint?: Paint | undefined;
  utc: boolean;
  /** With more than one, each line begins with its agent. */
  agents: readonly Agent[];
}

// Readable on light and dark backgrounds, and not used for levels.
const colours = ["cyan", "magenta", "green"] as const;
const styles: Partial<Record<Level, keyof Paint>> = { error: "red", warning: "yellow", debug: "dim" };
const widest = Math.max(...["debug", "info", "warning", "error"].map((level) => level.length));

/** An entry as text: time, level, text. Never truncated or folded, so that grep finds it. */
export function logLines({ paint, utc, agents }: LineOptions): (entry: AgentLogEntry) => string {
  const dyed = (style: keyof Paint | undefined, text: string) => (paint && style ? paint[style](text) : text);
  const names = new Map(agents.map((agent) => [agent, hostAndName(agent)]));
  const room = Math.max(...[...names.values()].map((name) => name.length));
  // From the name, so that an agent always has the same colour.
  const owner = (agent: Agent) => {
    const name = names.get(agent) ?? "";
    const sum = [...name].reduce((total, char) => (total * 31 + char.charCodeAt(0)) % 9973, 0);
    return `${dyed(colours[sum % colours.length], padded(name, room))} | `;
  };
  return ({ agent, at, level, text }) => {
    const begin = agents.length > 1 ? owner(agent) : "";
    const [first = "", ...more] = plain(text).split("\n");
    const head = `${begin}${dyed("dim", timeText(at, utc))} ${dyed(styles[level], padded(level.toUpperCase(), widest))} ${first}`;
    return [head, ...more.map((line) => `${begin}${line}`)].map((line) => `${line.trimEnd()}\n`).join("");
  };
}

function timeText(at: number, utc: boolean): string {
  if (Number.isNaN(at)) return "-".padEnd(19);
  if (utc) return new Date(at).toISOString().slice(0, 19).concat("Z");
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19).replace("T", " ");
}

export function logObject({ agent, at, level, source, text }: AgentLogEntry): object {
  const { logger, message } = splitLogger(plain(text));
  return {
    time: Number.isNaN(at) ? null : new Date(at).toISOString(),
    agent: agent.name,
    host: agent.host.name,
    level,
    source,
    logger: logger ?? null,
    message,
  };
}
