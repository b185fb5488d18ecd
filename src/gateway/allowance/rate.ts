const window = 60_000;

/** Requests of the last minute: a sliding window, so that no more than the limit fall into any 60 seconds. */
export class Rate {
  #times: number[] = [];
  #first = 0;

  /** Counts a request, or returns the milliseconds until one more is allowed. */
  count(limit: number, now: number): number | undefined {
    // A clock that was set back leaves times in the future; they do not count.
    if ((this.#times.at(-1) ?? 0) > now) {
      this.#times = this.#times.slice(this.#first).filter((time) => time <= now);
      this.#first = 0;
    }
    while (this.#first < this.#times.length && (this.#times[this.#first] ?? 0) <= now - window) this.#first++;
    if (this.#first > 1024 && this.#first * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    const over = this.#times.length - this.#first - limit;
    // When the limit was lowered, more than one has to leave.
    if (over >= 0) return (this.#times[this.#first + over] ?? now) + window - now;
    this.#times.push(now);
    return undefined;
  }
}
