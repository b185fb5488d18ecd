import { Rate } from "./rate.js";
import { type Amount, largerOf } from "./totals.js";

export interface Hold {
  target: string;
  amount: Amount;
}

/** A key's calls in flight, and those that wait for them. */
export class Account<Waiter> {
  readonly rate = new Rate();
  /** The sum of what calls in flight have reserved. */
  readonly held: Amount = { tokens: 0, nano: 0 };
  waiting: Waiter[] = [];
  readonly #holds = new Set<Hold>();
  /** The largest call so far, by target. */
  readonly #largest = new Map<string, Amount>();

  get inFlight(): number {
    return this.#holds.size;
  }

  hold(hold: Hold): void {
    this.#holds.add(hold);
    this.#add(hold.amount, 1);
  }

  /** Returns false when it was released before. */
  release(hold: Hold): boolean {
    if (!this.#holds.delete(hold)) return false;
    this.#add(hold.amount, -1);
    return true;
  }

  largest(target: string): Amount | undefined {
    return this.#largest.get(target);
  }

  /** Calls in flight on the same target may become as large as the largest so far, so they reserve for it now. */
  learn(target: string, spent: Amount): void {
    const before = this.#largest.get(target);
    const largest = largerOf(before ?? spent, spent);
    this.#largest.set(target, largest);
    if (before?.tokens === largest.tokens && before.nano === largest.nano) return;
    for (const hold of this.#holds) {
      if (hold.target !== target) continue;
      this.#add(hold.amount, -1);
      hold.amount = largerOf(hold.amount, twice(largest));
      this.#add(hold.amount, 1);
    }
  }

  #add({ tokens, nano }: Amount, sign: 1 | -1): void {
    this.held.tokens += sign * tokens;
    this.held.nano += sign * nano;
  }
}

export const twice = ({ tokens, nano }: Amount): Amount => ({ tokens: 2 * tokens, nano: 2 * nano });
