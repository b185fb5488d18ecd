import type { Refusal } from "../refusal.js";

// Milliseconds.
const pause = 1000;

/**
 * Keeps load off what is known to be down: for a moment nobody tries, then one does, and the others are told what is known
 * without waiting for that.
 */
export class Breaker {
  #known: Refusal | undefined;
  #until = 0;
  #trying = 0;

  mustBeWorthTrying(): void {
    if (this.#known && (this.#trying > 0 || performance.now() < this.#until)) throw this.#known;
  }

  begun(): void {
    this.#trying++;
  }

  /** With why it is down, or without when it is up. */
  ended(known?: Refusal): void {
    this.#trying--;
    this.#known = known;
    // Not the clock's time: were that set back, nobody would try until it is as late again.
    this.#until = performance.now() + pause;
  }
}
