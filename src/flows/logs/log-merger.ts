import type { AgentLog, AgentLogEntry } from "./agent-log.js";
import type { LineSink } from "./line-sink.js";

/** Milliseconds by which entries of different sources may arrive out of order; the output is late by as much. */
const reorderTime = 20;

/** Merges the logs of several agents: first the past of all of them in order of time, then new entries as they come. */
export class LogMerger {
  readonly #waiting: Set<AgentLog>;
  readonly #changed = new Set<AgentLog>();
  #isOpen = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly logs: AgentLog[],
    private readonly sink: LineSink<AgentLogEntry[]>,
  ) {
    this.#waiting = new Set(logs);
  }

  changed(log: AgentLog): void {
    if (this.#waiting.has(log)) return;
    this.#changed.add(log);
    if (this.#isOpen) this.#timer ??= setTimeout(() => this.flush(), reorderTime);
  }

  /** The past of a log is complete, or will not come. */
  ready(log: AgentLog): void {
    if (!this.#waiting.delete(log)) return;
    if (this.#isOpen) this.#push([log.past()]);
    else if (this.#waiting.size === 0) this.open();
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#push(this.logs.filter((log) => !this.#waiting.has(log)).map((log) => log.past()));
    if (this.#changed.size > 0) this.flush();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#push([...this.#changed].map((log) => log.news()));
    this.#changed.clear();
  }

  #push(parts: AgentLogEntry[][]): void {
    const entries = parts.flat().sort((a, b) => a.at - b.at);
    if (entries.length > 0) this.sink.push(entries);
  }
}
