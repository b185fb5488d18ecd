import { type Clock, type Entry, isAtLeast, type Level } from "../../agents/logs/line.js";
import { merged, onlyOnce } from "../../agents/logs/merge.js";
import type { Source } from "../../agents/logs/sources.js";
import { type Telling, telling } from "../../agents/logs/telling.js";
import type { Heard } from "../../agents/logs/wire.js";
import type { Agent } from "../../state/agents.js";

/** Something an agent said. */
export interface Told extends Entry {
  agent: Agent;
}

/** What somebody wants to hear. */
export interface Wanted {
  level: Level;
  grep?: RegExp | undefined;
  /** The last so many of what was said before. */
  lines?: number | undefined;
}

/** One agent, as it is heard: first what it said, then what it says. */
export interface Voice {
  readonly agent: Agent;
  /** A host begins to speak, or does so again after it was lost. */
  begin(clock: Clock, now: () => number): void;
  take(heard: Heard): void;
  /** All that was said before has been heard. */
  arrive(): void;
  /** What was said before, the first time it was heard; in order, and no more of it than is wanted. */
  past(): Told[];
  /** What came since; nothing of it is kept. */
  news(): Told[];
}

export interface VoiceOptions {
  agent: Agent;
  wanted: Wanted;
  /** Characters of an entry that are kept. */
  longest: number;
  /** Takes all secrets out of a text, and of one that was cut what may be the beginning of one. */
  clean: (text: string, cut: boolean) => string;
  /** Characters of what was said before that are kept. */
  room: number;
  /** It was more. Told once. */
  tooMuch: (agent: Agent) => void;
}

// So many of the last lines tell where a file was left, and so many entries of the journal are known again.
const remembered = 3;
const cursorsRemembered = 5000;
// What an entry takes beside its text, as characters.
const overhead = 200;

const sizeOf = (all: readonly Told[]): number => all.reduce((sum, { text }) => sum + text.length + overhead, 0);

export function createVoice({ agent, wanted, longest, clean, room, tooMuch }: VoiceOptions): Voice {
  const { level, grep, lines } = wanted;
  const tellings = new Map<string, Telling>();
  const told = new Map<string, Told[]>();
  const lastLines = new Map<string, string[]>();
  const cursors = new Set<string>();
  const isNew = onlyOnce();
  let clock: Clock = (local) => local;
  let now: () => number = Date.now;
  /** Lines of a file that are heard again, until it is known where those begin that are not. */
  let replay: Map<string, Heard[]> | undefined;
  let before = true;
  let begun = false;
  let kept = 0;
  let forgot = false;

  function hear(source: string, entry: Entry, cut: boolean): void {
    if (entry.cursor !== undefined && isKnown(entry.cursor)) return;
    if (!isAtLeast(entry.level, level)) return;
    const text = clean(entry.text, cut);
    if (grep && !grep.test(text)) return;
    const all = told.get(source) ?? [];
    told.set(source, all);
    all.push({ ...entry, text, agent });
    kept += text.length + overhead;
    if (!before) return;
    if (lines !== undefined && all.length > 2 * lines + 100) forget(all, all.length - lines);
    if (kept > room) forgetTheEarliest();
  }

  function forget(all: Told[], count: number): void {
    kept -= sizeOf(all.splice(0, count));
  }

  /** Half of what takes the most room. */
  function forgetTheEarliest(): void {
    const [most = []] = [...told.values()].sort((a, b) => sizeOf(b) - sizeOf(a));
    forget(most, Math.ceil(most.length / 2));
    if (!forgot) tooMuch(agent);
    forgot = true;
  }

  function isKnown(cursor: string): boolean {
    if (cursors.has(cursor)) return true;
    cursors.add(cursor);
    const [oldest = ""] = cursors.size > cursorsRemembered ? cursors : [];
    cursors.delete(oldest);
    return false;
  }

  function tellingOf(source: string): Telling {
    const known = tellings.get(source);
    if (known) return known;
    const made = telling({
      ...{ source: source as Source, clock: (local) => clock(local), now: () => now(), longest },
      tell: (entry, cut) => hear(source, entry, cut),
    });
    tellings.set(source, made);
    return made;
  }

  function say(heard: Heard): void {
    const { source, line } = heard;
    if (source !== "journal") lastLines.set(source, [...(lastLines.get(source) ?? []), line].slice(-remembered));
    tellingOf(source).take(heard);
  }

  function settle(end: boolean): void {
    for (const each of tellings.values()) each.settle(end);
  }

  function taken(): Told[] {
    const all = [...told.values()].flat();
    told.clear();
    kept = 0;
    return merged(all, isNew);
  }

  return {
    agent,
    begin(hostClock, hostNow) {
      settle(true);
      tellings.clear();
      clock = hostClock;
      now = hostNow;
      replay = begun ? new Map() : undefined;
      begun = true;
    },
    take(heard) {
      if (!replay || heard.source === "journal") return say(heard);
      const all = replay.get(heard.source) ?? [];
      replay.set(heard.source, all);
      all.push(heard);
    },
    arrive() {
      const heard = replay;
      replay = undefined;
      for (const [source, all] of heard ?? []) for (const each of unheard(all, lastLines.get(source) ?? [])) say(each);
      settle(true);
    },
    past() {
      before = false;
      return lines === undefined ? taken() : taken().slice(lines === 0 ? Number.POSITIVE_INFINITY : -lines);
    },
    news() {
      settle(false);
      return taken();
    },
  };
}

/** What comes after the lines that were heard last; all of it when they are not there any more. */
export function unheard<L extends { line: string }>(all: readonly L[], last: readonly string[]): L[] {
  // What was filtered on the host is missing between the last lines; the very last one may have to do.
  for (const known of [last, last.slice(-1)]) {
    if (known.length === 0) continue;
    for (let end = all.length; end >= known.length; end--) {
      if (known.every((line, at) => all[end - known.length + at]?.line === line)) return all.slice(end);
    }
  }
  return [...all];
}
