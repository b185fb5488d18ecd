import type { Models } from "../../agents/models.js";
import type { Tokens } from "../call.js";
import type { GatewayKey } from "../keys/key.js";
import type { Refusal } from "../refusal.js";
import { type Account, hold, learn, most, newAccount } from "./account.js";
import { heldByOthers, type Limit, limitsOf, noPrice, tooFast, usedUp } from "./limits.js";
import { costOf, isFree, type Price, priceOf } from "./price.js";
import { type Spent, usdOf } from "./totals.js";
import type { Usage } from "./usage.js";

export interface Asked {
  /** `host/agent` or `host/agent/proxy`. */
  target: string;
  /** The type of the provider that answers for it, and the model that it runs: they have the price. */
  provider?: string | undefined;
  model: string;
  /** Tokens, by the length of what is said. */
  input: number;
  /** Tokens that the answer may have, where that was said. */
  output?: number | undefined;
}

export interface Allowance {
  /** Counts a request, whatever it asks for, against the key's rpm. */
  count(key: GatewayKey): void;
  /** Reserves tokens and money. Waits, first come first served, while others hold the rest of a limit that is not spent yet. */
  reserve(key: GatewayKey, asked: Asked, signal: AbortSignal): Promise<Reservation>;
}

/** Exactly one of both; what comes later does nothing. */
export interface Reservation {
  /** What so many would cost, where that is known. */
  cost(tokens: Tokens): { usd?: number };
  settle(tokens: Tokens): { usd?: number };
  /** Nothing was spent. */
  release(): void;
}

export interface AllowanceParts {
  /** As they are now: of a file that changed, the next request is the first. */
  models: () => Pick<Models, "of"> | Promise<Pick<Models, "of">>;
  usage: Usage;
  now: () => Date;
  /** Milliseconds that a request waits for others. */
  patience?: number;
}

interface Waiter {
  key: GatewayKey;
  asked: Asked;
  price: Price | undefined;
  admit(reservation: Reservation): void;
  refuse(why: unknown): void;
}

/** What an answer is taken to have at least, where nobody said. */
export const usualOutput = 1024;

/**
 * What keys may use. A request begins while what is spent and what others have reserved is below the limit, and reserves twice
 * the largest call its key had on its target so far. Of a target that the key has not called yet nothing is known: such a call
 * reserves all that is left. So, however many arrive at once, what is spent passes a limit by no more than one call, as long as
 * none costs more than twice the largest before it.
 */
export function openAllowance({ models, usage, now, patience = 60_000 }: AllowanceParts): Allowance {
  const accounts = new Map<string, Account<Waiter>>();

  function accountOf({ id }: GatewayKey): Account<Waiter> {
    const found = accounts.get(id);
    if (found) return found;
    const made = newAccount<Waiter>();
    accounts.set(id, made);
    return made;
  }

  /** The limits that a call counts against: what costs nothing cannot overspend. */
  const limitsFor = (key: GatewayKey, price: Price | undefined, at: Date): Limit[] =>
    limitsOf(key, at).filter(({ of }) => of === "tokens" || !isFree(price));

  const spentOf = (key: GatewayKey, { of, period }: Limit): number => usage.spent(key.id, period)[of];

  /** The limit whose rest others hold; nothing when the call may begin. Throws when a limit is used up. */
  function blocked(account: Account<Waiter>, { key, price }: Pick<Waiter, "key" | "price">): Limit | undefined {
    const at = now();
    const limits = limitsFor(key, price, at);
    const full = limits.find((limit) => spentOf(key, limit) >= limit.most);
    if (full) throw usedUp(key, full, at);
    return limits.find((limit) => spentOf(key, limit) + account.held[limit.of] >= limit.most);
  }

  function amountFor(account: Account<Waiter>, { key, asked, price }: Pick<Waiter, "key" | "asked" | "price">): Spent {
    const tokens = { input: asked.input, output: asked.output ?? usualOutput };
    const amount = { tokens: tokens.input + tokens.output, nano: costOf(price, tokens) ?? 0 };
    const [lately, before] = [account.largest.get(asked.target), usage.largest(key.id, asked.target)];
    const largest = lately && before ? most(lately, before) : (lately ?? before);
    if (largest) return most(amount, { tokens: 2 * largest.tokens, nano: 2 * largest.nano });
    for (const limit of limitsFor(key, price, now())) {
      const left = limit.most - spentOf(key, limit) - account.held[limit.of];
      amount[limit.of] = Math.max(amount[limit.of], left);
    }
    return amount;
  }

  function begin(account: Account<Waiter>, wish: Pick<Waiter, "key" | "asked" | "price">): Reservation {
    const { key, asked, price } = wish;
    const held = { target: asked.target, amount: amountFor(account, wish) };
    account.underWay.add(held);
    hold(account, held.amount, 1);
    const end = (work: () => void) => {
      if (!account.underWay.delete(held)) return;
      hold(account, held.amount, -1);
      work();
      serve(account);
    };
    const usdIn = (nano: number | undefined) => (nano === undefined ? {} : { usd: usdOf(nano) });
    return {
      cost: (tokens) => usdIn(costOf(price, tokens)),
      settle(tokens) {
        const nano = costOf(price, tokens);
        end(() => {
          const spent = { tokens: tokens.input + tokens.output, nano: nano ?? 0 };
          usage.owe(key.id, spent);
          learn(account, asked.target, spent);
        });
        return usdIn(nano);
      },
      release: () => end(() => {}),
    };
  }

  /** Lets begin who may, in the order they came. */
  function serve(account: Account<Waiter>): void {
    for (let first = account.waiting[0]; first; first = account.waiting[0]) {
      try {
        if (blocked(account, first)) return;
      } catch (refusal) {
        account.waiting.shift();
        first.refuse(refusal);
        continue;
      }
      account.waiting.shift();
      first.admit(begin(account, first));
    }
  }

  function waitFor(account: Account<Waiter>, wish: Pick<Waiter, "key" | "asked" | "price">, signal: AbortSignal) {
    return new Promise<Reservation>((admitted, refused) => {
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
      };
      const waiter: Waiter = {
        ...wish,
        admit: (reservation) => {
          over();
          admitted(reservation);
        },
        refuse: (why) => {
          over();
          refused(why);
        },
      };
      const giveUp = (why: () => unknown) => {
        account.waiting = account.waiting.filter((each) => each !== waiter);
        waiter.refuse(why());
        serve(account);
      };
      const leave = () => giveUp(() => signal.reason);
      const timer = setTimeout(() => giveUp(() => stillBlocked(account, wish, patience)), patience);
      signal.addEventListener("abort", leave, { once: true });
      account.waiting.push(waiter);
    });
  }

  function stillBlocked(
    account: Account<Waiter>,
    wish: Pick<Waiter, "key" | "price">,
    waited: number,
  ): Refusal | unknown {
    try {
      const limit = blocked(account, wish) ?? limitsFor(wish.key, wish.price, now())[0];
      return limit && heldByOthers(wish.key, limit, waited);
    } catch (refusal) {
      return refusal;
    }
  }

  return {
    count(key) {
      const pause = key.rpm === undefined ? undefined : accountOf(key).rate.count(key.rpm, now().getTime());
      if (pause !== undefined) throw tooFast(key, pause);
    },
    async reserve(key, asked, signal) {
      const known = models();
      const { of } = known instanceof Promise ? await known : known;
      signal.throwIfAborted();
      const account = accountOf(key);
      const price = priceOf(of(asked.provider ?? "", asked.model));
      if (key.budget && !price) throw noPrice(key, asked.model);
      const wish = { key, asked, price };
      const isBlocked = blocked(account, wish) !== undefined;
      if (!isBlocked && account.waiting.length === 0) return begin(account, wish);
      const turn = waitFor(account, wish, signal);
      // A new day or another limit may have made room since those who wait were looked at.
      serve(account);
      return turn;
    },
  };
}
