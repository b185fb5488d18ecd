import { Deduplicator, mergeEntries } from "../../agents/logs/deduplicate.js";
import { type Clock, isAtLeast, type LogEntry } from "../../agents/logs/entry.js";
import { type EntryAssembler, entryAssembler } from "../../agents/logs/entry-assembler.js";
import type { LogLine } from "../../agents/logs/frame-reader.js";
import type { LogQuery } from "../../agents/logs/script.js";
import type { Agent } from "../../state/agents.js";
import type { AgentTarget } from "../agent/target.js";

export interface AgentLogEntry extends LogEntry {
  agent: Agent;
}

export interface LogFilter extends Pick<LogQuery, "level" | "lines"> {
  grep?: RegExp | undefined;
}

export interface AgentLogOptions {
  target: AgentTarget;
  filter: LogFilter;
  /** Characters of an entry that are kept. */
  maxLength: number;
  /** Removes secrets, and from a text that was cut what may be the beginning of one. */
  clean: (text: string, cut: boolean) => string;
  /** Characters of past entries that are kept. */
  maxPast: number;
  /** Called once when that was exceeded. */
  onOverflow: (agent: Agent) => void;
}

// The last lines of a file, by which its end is found again, and the cursors of journal entries.
const linesRemembered = 3;
const cursorsRemembered = 5000;
// The size of an entry without its text, in characters.
const overhead = 200;

const sizeOf = (entries: readonly LogEntry[]): number =>
  entries.reduce((sum, { text }) => sum + text.length + overhead, 0);

export class AgentLog {
  readonly #assemblers = new Map<string, EntryAssembler>();
  readonly #entries = new Map<string, AgentLogEntry[]>();
  readonly #lastLines = new Map<string, string[]>();
  readonly #cursors = new Set<string>();
  readonly #known = new Deduplicator();
  #clock: Clock = (local) => local;
  #now: () => number = Date.now;
  /** After a lost connection: lines of files, until it is known which of them are new. */
  #replay: Map<string, LogLine[]> | undefined;
  #begun = false;
  #inPast = true;
  #size = 0;
  #overflowed = false;

  constructor(private readonly options: AgentLogOptions) {}

  get target(): AgentTarget {
    return this.options.target;
  }

  /** Also called again after a lost connection. */
  begin(clock: Clock, now: () => number): void {
    this.#settle(true);
    this.#assemblers.clear();
    this.#clock = clock;
    this.#now = now;
    this.#replay = this.#begun ? new Map() : undefined;
    this.#begun = true;
  }

  take(line: LogLine): void {
    if (!this.#replay || line.source === "journal") {
      this.#assemble(line);
      return;
    }
    const lines = this.#replay.get(line.source) ?? [];
    this.#replay.set(line.source, lines);
    lines.push(line);
  }

  endPast(): void {
    const replay = this.#replay ?? [];
    this.#replay = undefined;
    for (const [source, lines] of replay) {
      for (const line of linesAfter(lines, this.#lastLines.get(source) ?? [])) this.#assemble(line);
    }
    this.#settle(true);
  }

  past(): AgentLogEntry[] {
    this.#inPast = false;
    const { lines } = this.options.filter;
    return lines === undefined ? this.#drain() : this.#drain().slice(lines === 0 ? Number.POSITIVE_INFINITY : -lines);
  }

  /** The entries since the last call. */
  news(): AgentLogEntry[] {
    this.#settle(false);
    return this.#drain();
  }

  #assemble(line: LogLine): void {
    const { source } = line;
    if (source !== "journal") {
      this.#lastLines.set(source, [...(this.#lastLines.get(source) ?? []), line.line].slice(-linesRemembered));
    }
    const assembler =
      this.#assemblers.get(source) ??
      entryAssembler({
        source,
        loose: this.target.resolved.manifest.logs[source]?.loose ?? false,
        clock: this.#clock,
        now: this.#now,
        maxLength: this.options.maxLength,
        emit: (entry, cut) => this.#add(entry, cut),
      });
    this.#assemblers.set(source, assembler);
    assembler.take(line);
  }

  #add(entry: LogEntry, cut: boolean): void {
    const { filter, clean, maxPast } = this.options;
    if (entry.cursor !== undefined && this.#isKnown(entry.cursor)) return;
    if (!isAtLeast(entry.level, filter.level)) return;
    const text = clean(entry.text, cut);
    if (filter.grep && !filter.grep.test(text)) return;
    const entries = this.#entries.get(entry.source) ?? [];
    this.#entries.set(entry.source, entries);
    entries.push({ ...entry, text, agent: this.target.agent });
    this.#size += text.length + overhead;
    if (!this.#inPast) return;
    const { lines } = filter;
    if (lines !== undefined && entries.length > 2 * lines + 100) this.#drop(entries, entries.length - lines);
    if (this.#size > maxPast) this.#overflow();
  }

  #drop(entries: AgentLogEntry[], count: number): void {
    this.#size -= sizeOf(entries.splice(0, count));
  }

  /** Drops the earlier half of the largest source. */
  #overflow(): void {
    const [largest = []] = [...this.#entries.values()].sort((a, b) => sizeOf(b) - sizeOf(a));
    this.#drop(largest, Math.ceil(largest.length / 2));
    if (!this.#overflowed) this.options.onOverflow(this.target.agent);
    this.#overflowed = true;
  }

  #isKnown(cursor: string): boolean {
    if (this.#cursors.has(cursor)) return true;
    this.#cursors.add(cursor);
    const [oldest = ""] = this.#cursors.size > cursorsRemembered ? this.#cursors : [];
    this.#cursors.delete(oldest);
    return false;
  }

  #settle(end: boolean): void {
    for (const assembler of this.#assemblers.values()) assembler.settle(end);
  }

  #drain(): AgentLogEntry[] {
    const entries = [...this.#entries.values()].flat();
    this.#entries.clear();
    this.#size = 0;
    return mergeEntries(entries, this.#known);
  }
}

/** The lines after `last`; all of them when `last` is not among them. */
export function linesAfter<L extends { line: string }>(all: readonly L[], last: readonly string[]): L[] {
  // Lines that the host filtered out may be missing in between; then the very last one has to do.
  for (const known of [last, last.slice(-1)]) {
    if (known.length === 0) continue;
    for (let end = all.length; end >= known.length; end--) {
      if (known.every((line, at) => all[end - known.length + at]?.line === line)) return all.slice(end);
    }
  }
  return [...all];
}
