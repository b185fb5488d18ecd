import { setTimeout as sleep } from "node:timers/promises";
import { clockOf } from "../../agents/logs/clock.js";
import type { LogLine } from "../../agents/logs/frame-reader.js";
import { type LogQuery, logFiles, logsScript } from "../../agents/logs/script.js";
import { limit } from "../../async/limit.js";
import { asFault, Fault, isFault } from "../../errors.js";
import type { Agent } from "../../state/agents.js";
import type { Host } from "../../state/hosts.js";
import { resolve } from "../agent/target.js";
import { byHost } from "../fleet/host.js";
import { cleanCut } from "../hide-secrets.js";
import type { Session } from "../session.js";
import { AgentLog, type AgentLogEntry, type LogFilter } from "./agent-log.js";
import { LineSink } from "./line-sink.js";
import { listen } from "./listen.js";
import { LogMerger } from "./log-merger.js";

export type { AgentLogEntry } from "./agent-log.js";

export type LogOptions = Omit<LogQuery, "again"> & LogFilter;

export interface LogReader {
  /** Awaited: no more is read before these are taken. */
  entries: (entries: AgentLogEntry[]) => Promise<void> | void;
  /** The log of an agent, or of all agents of a host, cannot be read; the others are. */
  trouble: (fault: Fault) => void;
}

const hostsAtOnce = 64;
/** Bytes of a line, and of an entry, that are kept. */
const maxLength = 1 << 20;
/** Characters of past entries that are kept until they are sorted. */
const maxPast = 1 << 27;
/** Milliseconds to wait for slow hosts before the others go live. */
const openTimeout = 3000;
/** Milliseconds a host may take to find the next line of the past. */
const silence = 90_000;
/** Milliseconds before each reconnect; from the start again after a connection that lasted. */
const pauses = [500, 1000, 2000, 5000];
const lasting = 10_000;
/** Seconds that are asked for again after a lost connection: not all of their lines need have arrived. */
const overlap = 5;

/** Reads what agents logged, in order of time, and with `follow` what they log from then on. */
export async function readLogs(
  session: Session,
  agents: readonly Agent[],
  options: LogOptions,
  { entries, trouble }: LogReader,
): Promise<void> {
  const { ui, signal } = session;
  const clean = cleanCut(session);
  const onOverflow = (agent: Agent) =>
    ui.warn(`${agent.name} has more log entries than clm can sort, so the earliest are left out: narrow the range`);
  const limits = { maxLength, maxPast: Math.floor(maxPast / agents.length) };
  const logs = await Promise.all(
    agents.map(async (agent) => {
      const target = { agent, resolved: await resolve(session, agent) };
      return new AgentLog({ target, filter: options, clean, onOverflow, ...limits });
    }),
  );
  mustBeSources(logs, options.sources);
  const sink = new LineSink(entries, signal);
  const merger = new LogMerger(logs, sink);
  const slot = limit(hostsAtOnce);
  const work = byHost(agents).map(({ host }) => {
    const here = logs.filter(({ target }) => target.agent.host.name === host.name);
    const read = () => readHost(session, host, here, options, { merger, sink, trouble });
    // Following never ends, so no host can wait for its turn.
    return options.follow ? read() : slot(read);
  });
  const late = options.follow ? setTimeout(() => merger.open(), openTimeout) : undefined;
  try {
    await Promise.all(work);
  } finally {
    clearTimeout(late);
  }
  merger.open();
  merger.flush();
  await sink.close();
}

interface LogOutput {
  merger: LogMerger;
  sink: LineSink<AgentLogEntry[]>;
  trouble: (fault: Fault) => void;
}

/** Reads the logs of all agents of a host with one exec; when following, reconnects to a host that was lost. */
async function readHost(
  session: Session,
  host: Host,
  logs: AgentLog[],
  options: LogOptions,
  { merger, sink, trouble }: LogOutput,
): Promise<void> {
  const { ui, signal } = session;
  const noted = new Set<string>();
  // The host does not search: --grep matches whole entries, without secrets.
  let query: LogQuery = options.grep && options.lines !== 0 ? { ...options, lines: undefined } : options;
  /** The time of the last line, by the host's clock. */
  let lastLine: number | undefined;
  let clockOffset = 0;
  const hostNow = () => Date.now() + clockOffset;
  let failures = 0;
  let lost = false;
  let connected = 0;

  function remark(words: string[], number: number | undefined): void {
    const log = number === undefined ? undefined : logs[number];
    if (words[0] === "clock") {
      const [, seconds = "", offset = "", zone = ""] = words;
      // A host without a readable clock is taken to have ours.
      if (/^\d{1,11}$/.test(seconds)) clockOffset = Number(seconds) * 1000 - Date.now();
      lastLine ??= hostNow();
      for (const each of logs) each.begin(clockOf(offset, zone), hostNow);
      if (lost) ui.warn(`${host.name} is back`);
      lost = false;
      connected = Date.now();
    } else if (log && words[0] === "past") {
      log.endPast();
      merger.ready(log);
      merger.changed(log);
    } else if (log && !noted.has(`${number} ${words[0]}`)) {
      noted.add(`${number} ${words[0]}`);
      trouble(missing(log.target.agent, words[0] === "no-account"));
    }
  }

  function line(found: LogLine): void {
    const log = logs[found.agent];
    if (!log) return;
    lastLine = hostNow();
    log.take(found);
    merger.changed(log);
  }

  for (;;) {
    try {
      const connection = await session.pool.connect(host);
      const resolved = logs.map(({ target }) => target.resolved);
      const script = logsScript(resolved, query);
      const handlers = { maxBytes: maxLength, line, remark, drained: () => sink.drained() };
      return await listen(connection, script, { ...handlers, silence: options.follow ? undefined : silence }, signal);
    } catch (error) {
      if (signal.aborted) return;
      const fault = asFault(error);
      // No reconnect to a host that never answered: its address or the login may be wrong.
      const isLost = lastLine !== undefined && isFault(fault, "connection-lost", "unreachable", "remote-failed");
      if (!options.follow || !isLost) {
        for (const log of logs) merger.ready(log);
        return trouble(fault);
      }
      if (!lost) ui.warn(`${[fault.message, ...fault.why].join(": ")}; trying again`);
      if (!lost && Date.now() - connected > lasting) failures = 0;
      lost = true;
      failures++;
      const at = Math.floor((lastLine ?? 0) / 1000) - overlap;
      query = { ...options, since: { at }, lines: undefined, level: "debug", again: true };
      await sleep(pauses[Math.min(failures, pauses.length) - 1], undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }
}

function mustBeSources(logs: AgentLog[], sources: readonly string[] | undefined): void {
  const files = logs.flatMap(({ target }) => logFiles(target.resolved).map(({ name }) => name));
  const known = [...new Set(["journal", ...files])];
  const wrong = sources?.find((source) => !known.includes(source));
  if (wrong === undefined) return;
  throw new Fault("bad-input", `${wrong} is not a log source`, { why: `use one of ${known.join(", ")}` });
}

const missing = ({ host, name, ref, record }: Agent, account: boolean): Fault =>
  new Fault("check-failed", `${name} is not on ${host.name} as it was installed`, {
    why: account ? `there is no account ${record.user}, so none of its log files` : `there is no unit ${record.unit}`,
    next: `clm ps ${ref}`,
  });
