import type { Refusal } from "../request/refusal.js";

// Milliseconds.
const pause = 1000;

/** A circuit breaker: after a failure and a pause one request tries; all others get the known failure at once. */
export class Breaker {
  #failure: Refusal | undefined;
  #until = 0;
  #attempts = 0;

  throwIfOpen(): void {
    if (this.#failure && (this.#attempts > 0 || performance.now() < this.#until)) throw this.#failure;
  }

  attemptStarted(): void {
    this.#attempts++;
  }

  attemptEnded(failure?: Refusal): void {
    this.#attempts--;
    this.#failure = failure;
    // A monotonic clock: with the wall clock set back, no request would try until it caught up.
    this.#until = performance.now() + pause;
  }
}
