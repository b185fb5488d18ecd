import { own } from "../../text/own-property.js";

export const levels = ["debug", "info", "warning", "error"] as const;
export type Level = (typeof levels)[number];

/** One thing that was said, by the agent or about it. What followed on lines of its own, as a traceback does, is part of it. */
export interface Entry {
  /** Milliseconds since 1970. */
  at: number;
  /** `journal`, or the log file without its ending. */
  source: string;
  level: Level;
  text: string;
  /** The journal's own name for it. */
  cursor?: string;
}

/** What is sent in lines of a file, as a moment: milliseconds since 1970. Given as if it had been UTC. */
export type Clock = (local: number) => number;

const named: Record<string, Level> = {
  ...{ DEBUG: "debug", INFO: "info", WARNING: "warning", WARN: "warning" },
  ...{ ERROR: "error", CRITICAL: "error", FATAL: "error" },
};

const stamped = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[,.](\d{1,3})\d*)? +(.*)$/s;
const levelled = /^\[?([A-Z]{4,8})\]?(?= |:)(.*)$/s;

/** `===== [2026-11-16 10:00:00] starting MCP server 'x' =====`, above what that server says. */
const headed = /^=+ \[([^\]]*)\] (.*?) *=*$/s;

/** A line of one of Hermes' log files; nothing when it goes on with what the line before began. */
export function fileEntry(source: string, line: string, clock: Clock): Entry | undefined {
  const [, time, title] = headed.exec(line) ?? [];
  const [, year, month, day, hour, minute, second, fraction = "0", text = ""] =
    stamped.exec(time === undefined ? line : `${time} ${title}`) ?? [];
  if (year === undefined) return undefined;
  const local = Date.UTC(+year, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  return { at: clock(local + Number(fraction.padEnd(3, "0"))), source, ...levelIn(text, "info") };
}

/** A line of `journalctl -o json`; nothing when it is none. */
export function journalEntry(line: string): Entry | undefined {
  try {
    const { __REALTIME_TIMESTAMP: micros, __CURSOR: cursor, PRIORITY, MESSAGE } = JSON.parse(line);
    const text = messageOf(MESSAGE);
    if (!/^\d{1,17}$/.test(micros) || text === undefined) return undefined;
    const said = levelIn(text, ofPriority(Number(PRIORITY)));
    return { at: Math.floor(Number(micros) / 1000), source: "journal", ...said, ...(cursor && { cursor }) };
  } catch {
    return undefined;
  }
}

/** The journal gives bytes that are no text as a list of numbers. */
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

/** What the program itself says of a line goes before what the journal makes of it: all of stderr is the same to that. */
function levelIn(text: string, otherwise: Level): { level: Level; text: string } {
  const [, word = "", rest = ""] = levelled.exec(text) ?? [];
  const level = own(named, word);
  return level ? { level, text: rest.trimStart() } : { level: otherwise, text };
}

const spoken = /^(?:\[[^\]]*\] )?([A-Za-z_][\w.]*): (.*)$/s;

/** Which part of the agent said it, where that stands at the beginning. */
export function speakerOf(text: string): { logger?: string; message: string } {
  const [, logger, message] = spoken.exec(text) ?? [];
  return logger === undefined || message === undefined ? { message: text } : { logger, message };
}

export const isAtLeast = (level: Level, least: Level): boolean => levels.indexOf(level) >= levels.indexOf(least);
