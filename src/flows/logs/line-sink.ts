import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../../async/wait.js";

// Milliseconds after Ctrl-C for the last items: a pager may never take them.
const grace = 200;

/** Passes items on one after the other, no faster than they are taken. */
export class LineSink<T> {
  #last: Promise<void> = Promise.resolve();
  #pending = 0;
  #closed = false;

  constructor(
    private readonly take: (item: T) => Promise<void> | void,
    private readonly signal: AbortSignal,
  ) {}

  push(item: T): void {
    this.#pending++;
    this.#last = this.#last
      .then(() => (this.#closed ? undefined : this.take(item)))
      .finally(() => {
        this.#pending--;
      });
  }

  /** Resolves when every item pushed so far was taken, or on Ctrl-C. */
  drained(): Promise<void> | undefined {
    if (this.#pending === 0 || this.signal.aborted) return undefined;
    return waitFor(this.#last, { signal: this.signal }).catch(() => {});
  }

  async close(): Promise<void> {
    await this.drained();
    await Promise.race([this.#last, ...(this.signal.aborted ? [sleep(grace)] : [])]);
    this.#closed = true;
  }
}
