import { own } from "../../text/own-property.js";

export const levels = ["debug", "info", "warning", "error"] as const;
export type Level = (typeof levels)[number];

/** One entry of a log, with its continuation lines, as of a traceback. */
export interface LogEntry {
  /** Milliseconds since 1970. */
  at: number;
  /** `journal`, or the log file without its ending. */
  source: string;
  level: Level;
  text: string;
  /** The id of a journal entry. */
  cursor?: string;
}

/** The time of a line in a file, given as if it were UTC, in milliseconds since 1970. */
export type Clock = (local: number) => number;

const levelNames: Record<string, Level> = {
  DEBUG: "debug",
  INFO: "info",
  WARNING: "warning",
  WARN: "warning",
  ERROR: "error",
  CRITICAL: "error",
  FATAL: "error",
};

const stamped = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[,.](\d{1,3})\d*)? +(.*)$/s;
const levelled = /^\[?([A-Z]{4,8})\]?(?= |:)(.*)$/s;

/** `===== [2026-11-16 10:00:00] starting MCP server 'x' =====`, above the output of that server. */
const headed = /^=+ \[([^\]]*)\] (.*?) *=*$/s;

/** A line of a log file; undefined when it continues the entry before. */
export function fileEntry(source: string, line: string, clock: Clock): LogEntry | undefined {
  const [, time, title] = headed.exec(line) ?? [];
  const [, year, month, day, hour, minute, second, fraction = "0", text = ""] =
    stamped.exec(time === undefined ? line : `${time} ${title}`) ?? [];
  if (year === undefined) return undefined;
  const local = Date.UTC(+year, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  return { at: clock(local + Number(fraction.padEnd(3, "0"))), source, ...levelIn(text, "info") };
}

/** A line of `journalctl -o json`; undefined when it is not an entry. */
export function journalEntry(line: string): LogEntry | undefined {
  try {
    const { __REALTIME_TIMESTAMP: micros, __CURSOR: cursor, PRIORITY, MESSAGE } = JSON.parse(line);
    const text = messageOf(MESSAGE);
    if (!/^\d{1,17}$/.test(micros) || text === undefined) return undefined;
    const parsed = levelIn(text, ofPriority(Number(PRIORITY)));
    return { at: Math.floor(Number(micros) / 1000), source: "journal", ...parsed, ...(cursor && { cursor }) };
  } catch {
    return undefined;
  }
}

/** The journal shows bytes that are not text as a list of numbers. */
function messageOf(message: unknown): string | undefined {
  if (typeof message === "string") return message;
  if (!Array.isArray(message)) return undefined;
  return Buffer.from(message.map(Number)).toString("utf8");
}

function ofPriority(priority: number): Level {
  if (priority <= 3) return "error";
  if (priority === 4) return "warning";
  return priority >= 7 ? "debug" : "info";
}

/** The level in the text takes precedence: the journal gives all of stderr the same priority. */
function levelIn(text: string, otherwise: Level): { level: Level; text: string } {
  const [, word = "", rest = ""] = levelled.exec(text) ?? [];
  const level = own(levelNames, word);
  return level ? { level, text: rest.trimStart() } : { level: otherwise, text };
}

const withLogger = /^(?:\[[^\]]*\] )?([A-Za-z_][\w.]*): (.*)$/s;

/** The logger at the beginning of a text, if any. */
export function splitLogger(text: string): { logger?: string; message: string } {
  const [, logger, message] = withLogger.exec(text) ?? [];
  return logger === undefined || message === undefined ? { message: text } : { logger, message };
}

export const isAtLeast = (level: Level, least: Level): boolean => levels.indexOf(level) >= levels.indexOf(least);
