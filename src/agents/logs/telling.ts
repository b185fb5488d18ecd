import { type Clock, type Entry, fileEntry, journalEntry } from "./line.js";
import { isLoose, type Source } from "./sources.js";
import type { Heard } from "./wire.js";

export interface Telling {
  take(heard: Pick<Heard, "line" | "cut">): void;
  /** Nothing more came for a while, so what was begun is whole; of what the journal cut in pieces that is so only at the end. */
  settle(end: boolean): void;
}

export interface TellingOptions {
  source: Source;
  clock: Clock;
  /** For what has no time of its own. */
  now: () => number;
  /** Characters of an entry that are kept. */
  longest: number;
  tell: (entry: Entry, cut: boolean) => void;
}

interface Begun {
  entry: Entry;
  cut: boolean;
}

/** Makes entries of the lines of one source. A line that begins none, as of a traceback, belongs to the one before. */
export function telling(options: TellingOptions): Telling {
  return options.source === "journal" ? journalTelling(options) : fileTelling(options, options.source);
}

function fileTelling({ clock, now, longest, tell }: TellingOptions, source: Source): Telling {
  let begun: Begun | undefined;
  let last: Pick<Entry, "at" | "level"> | undefined;

  function settle(_end?: boolean): void {
    if (begun) tell(begun.entry, begun.cut);
    begun = undefined;
  }

  return {
    settle,
    take({ line, cut }) {
      const entry = fileEntry(source, line, clock);
      if (!entry && begun && !isLoose(source)) {
        if (begun.entry.text.length + line.length < longest) begun.entry.text += `\n${line}`;
        else begun.cut = true;
        begun.cut ||= cut;
        return;
      }
      settle();
      if (!entry && line.trim() === "") return;
      const { at = now(), level = "info" } = last ?? {};
      begun = { entry: entry ?? { at, source, level: isLoose(source) ? "info" : level, text: line }, cut };
      last = begun.entry;
    },
  };
}

/** A line that was too long for the journal is in several of its entries. */
function journalTelling({ longest, tell }: TellingOptions): Telling {
  const begun = new Map<string, Begun>();
  return {
    settle(end) {
      if (!end) return;
      for (const { entry } of begun.values()) tell(entry, true);
      begun.clear();
    },
    take({ line, cut }) {
      const entry = journalEntry(line);
      if (!entry) return;
      const { _STREAM_ID: stream = "", _LINE_BREAK: breaks } = JSON.parse(line);
      const before = begun.get(stream);
      const whole: Begun = before ?? { entry, cut };
      if (before) {
        const room = Math.max(0, longest - before.entry.text.length);
        before.cut ||= cut || entry.text.length > room;
        before.entry.text += entry.text.slice(0, room);
        before.entry = { ...before.entry, ...(entry.cursor && { cursor: entry.cursor }) };
      }
      if (breaks === "line-max") begun.set(stream, whole);
      else {
        begun.delete(stream);
        tell(whole.entry, whole.cut);
      }
    },
  };
}
