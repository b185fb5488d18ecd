import { createRate, type Rate } from "./rate.js";
import type { Amount } from "./totals.js";

/** A key's requests that are under way, and those that wait for them. */
export interface Account<Waiter> {
  rate: Rate;
  /** What those under way have reserved, and the sum of it. */
  underWay: Set<{ target: string; amount: Amount }>;
  held: Amount;
  waiting: Waiter[];
  /** By target, the most that one call came to. */
  largest: Map<string, Amount>;
}

export const newAccount = <Waiter>(): Account<Waiter> => ({
  ...{ rate: createRate(), waiting: [], largest: new Map() },
  ...{ underWay: new Set(), held: { tokens: 0, nano: 0 } },
});

/** The largest call so far: those under way on the same target may come to as much, so they reserve for it now. */
export function learn(account: Account<unknown>, target: string, spent: Amount): void {
  const before = account.largest.get(target);
  const largest = most(before ?? spent, spent);
  account.largest.set(target, largest);
  if (before?.tokens === largest.tokens && before.nano === largest.nano) return;
  for (const each of account.underWay) {
    if (each.target !== target) continue;
    hold(account, each.amount, -1);
    each.amount = most(each.amount, { tokens: 2 * largest.tokens, nano: 2 * largest.nano });
    hold(account, each.amount, 1);
  }
}

export const most = (a: Amount, b: Amount): Amount => ({
  tokens: Math.max(a.tokens, b.tokens),
  nano: Math.max(a.nano, b.nano),
});

export function hold({ held }: Account<unknown>, { tokens, nano }: Amount, sign: 1 | -1): void {
  held.tokens += sign * tokens;
  held.nano += sign * nano;
}
