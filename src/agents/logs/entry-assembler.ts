import { type Clock, fileEntry, journalEntry, type LogEntry } from "./entry.js";
import type { LogLine } from "./frame-reader.js";

export interface EntryAssembler {
  take(line: Pick<LogLine, "line" | "cut">): void;
  /** Nothing more came for a while, so the last entry is complete. A journal entry in pieces is complete only at the end. */
  settle(end: boolean): void;
}

export interface AssemblerOptions {
  source: string;
  /** Lines without a time are entries of their own. */
  loose: boolean;
  clock: Clock;
  /** The time of entries that have none. */
  now: () => number;
  /** Characters of an entry that are kept. */
  maxLength: number;
  emit: (entry: LogEntry, cut: boolean) => void;
}

interface OpenEntry {
  entry: LogEntry;
  cut: boolean;
}

export const entryAssembler = (options: AssemblerOptions): EntryAssembler =>
  options.source === "journal" ? journalAssembler(options) : fileAssembler(options);

/** A line without a time, as of a traceback, belongs to the entry before. */
function fileAssembler({ source, loose, clock, now, maxLength, emit }: AssemblerOptions): EntryAssembler {
  let open: OpenEntry | undefined;
  let last: Pick<LogEntry, "at" | "level"> | undefined;

  function settle(): void {
    if (open) emit(open.entry, open.cut);
    open = undefined;
  }

  return {
    settle,
    take({ line, cut }) {
      const entry = fileEntry(source, line, clock);
      if (!entry && open && !loose) {
        if (open.entry.text.length + line.length < maxLength) open.entry.text += `\n${line}`;
        else open.cut = true;
        open.cut ||= cut;
        return;
      }
      settle();
      if (!entry && line.trim() === "") return;
      const { at = now(), level = "info" } = last ?? {};
      open = { entry: entry ?? { at, source, level: loose ? "info" : level, text: line }, cut };
      last = open.entry;
    },
  };
}

/** The journal splits a very long line into several entries. */
function journalAssembler({ maxLength, emit }: AssemblerOptions): EntryAssembler {
  const open = new Map<string, OpenEntry>();
  return {
    settle(end) {
      if (!end) return;
      for (const { entry } of open.values()) emit(entry, true);
      open.clear();
    },
    take({ line, cut }) {
      const entry = journalEntry(line);
      if (!entry) return;
      const { _STREAM_ID: stream = "", _LINE_BREAK: breaks } = JSON.parse(line);
      const before = open.get(stream);
      const whole: OpenEntry = before ?? { entry, cut };
      if (before) {
        const room = Math.max(0, maxLength - before.entry.text.length);
        before.cut ||= cut || entry.text.length > room;
        before.entry.text += entry.text.slice(0, room);
        before.entry = { ...before.entry, ...(entry.cursor && { cursor: entry.cursor }) };
      }
      if (breaks === "line-max") open.set(stream, whole);
      else {
        open.delete(stream);
        emit(whole.entry, whole.cut);
      }
    },
  };
}
