import type { ModelFacts, Models } from "../../agents/manifest/models.js";
import { bytesPerToken } from "../../text/tokens.js";
import type { Tokens } from "../gateway-call.js";
import type { GatewayKey } from "../keys/key.js";
import type { Refusal } from "../refusal.js";
import type { SessionIds } from "../session-ids.js";
import { type Account, hold, learn, most, newAccount } from "./account.js";
import { believable } from "./claims.js";
import { type Histories, openHistories } from "./histories.js";
import { heldByOthers, type Limit, limitsOf, noPrice, tooFast, tooManyAtOnce, usedUp } from "./limits.js";
import { costOf, isFree, type Price, priceOf } from "./price.js";
import { type Amount, usdOf } from "./totals.js";
import type { Usage } from "./usage.js";

export interface CallEstimate {
  /** `host/agent` or `host/agent/proxy`. */
  target: string;
  /** The type of the provider that answers for it, and the model that it runs: they have the price. */
  provider?: string | undefined;
  model: string;
  /** Tokens, by the length of what is said. */
  input: number;
  /** Tokens that the answer may have, where that was said. */
  output?: number | undefined;
  /** What is stored at the agent and added to the input there. */
  ids?: SessionIds;
}

export interface Allowance {
  /** Counts a request, whatever it asks for, against the key's rpm. */
  count(key: GatewayKey): void;
  /** Reserves tokens and money. Waits, first come first served, while others hold the rest of a limit that is not spent yet. */
  reserve(key: GatewayKey, asked: CallEstimate, signal: AbortSignal): Promise<Reservation>;
}

/** Exactly one of both; what comes later does nothing. */
export interface Reservation {
  /** Tokens that the agent is taken to add to the input of what it has stored. */
  readonly history?: number;
  /** What so many would cost, where that is known. */
  cost(tokens: Tokens): { usd?: number };
  /** By what was used. Gives what is counted of it, where that is not all: an agent may claim anything. */
  settle(tokens: Tokens, answered?: AnswerFacts): { usd?: number; tokens?: Tokens };
  /** Nothing was spent. */
  release(): void;
}

/** What is known when an answer has ended. */
export interface AnswerFacts {
  /** Milliseconds that the agent worked. */
  took: number;
  /** Under which ids the agent stored it. */
  ids?: SessionIds | undefined;
}

export interface AllowanceParts {
  /** As they are now: of a file that changed, the next request is the first. */
  models: () => Pick<Models, "of"> | Promise<Pick<Models, "of">>;
  usage: Usage;
  /** What stored sessions hold; only what this gateway passed without it. */
  histories?: Histories;
  now: () => Date;
  /** Milliseconds that a request waits for others. */
  timeout?: number;
}

/** A call that somebody wants to make. */
interface PendingCall {
  key: GatewayKey;
  asked: CallEstimate;
  price: Price | undefined;
  facts: ModelFacts | undefined;
}

interface Waiter extends PendingCall {
  admit(reservation: Reservation): void;
  refuse(why: unknown): void;
}

// Tokens: a session that grows without end is a mistake, and no window holds as much.
const mostHistory = 100_000_000;

/** What an answer is taken to have at least, where nobody said. */
export const defaultOutput = 1024;

/** Calls of a key with a limit that are under way at once, where the key says nothing else. */
export const defaultConcurrency = 8;

/**
 * What keys may use. A request begins while what is spent and what others have reserved is below the limit. It reserves what it
 * sends, twice what its session is known to hold, and at least twice the largest call its key had on its target so far. Where the
 * session is not known, it may hold the model's whole window; where that is not known either, or the key has not called this
 * target yet, the call reserves all that is left. So, however many arrive at once, what is spent passes a limit by no more than
 * one call, as long as none costs more than it reserved. Whatever agents do, it is no more calls than may be under way at once.
 */
export function openAllowance(given: AllowanceParts): Allowance {
  const { models, usage, now, histories = openHistories(), timeout = 60_000 } = given;
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

  /** What a call waits for; nothing when it may begin. Throws when a limit is used up. */
  function blocked(account: Account<Waiter>, { key, price }: PendingCall): Limit | "others" | undefined {
    const at = now();
    const limits = limitsFor(key, price, at);
    const full = limits.find((limit) => spentOf(key, limit) >= limit.most);
    if (full) throw usedUp(key, full, at);
    if (limits.length > 0 && account.underWay.size >= (key.concurrency ?? defaultConcurrency)) return "others";
    return limits.find((limit) => spentOf(key, limit) + account.held[limit.of] >= limit.most);
  }

  const ownerOf = ({ key, asked }: PendingCall) => ({ key: key.id, target: asked.target });

  /** Nothing where nobody knows what the session holds. */
  const historyOf = (wish: PendingCall): number | undefined =>
    wish.asked.ids ? histories.of(ownerOf(wish), wish.asked.ids) : 0;

  function largestOf(account: Account<Waiter>, { key, asked }: PendingCall): Amount | undefined {
    const [lately, before] = [account.largest.get(asked.target), usage.largest(key.id, asked.target)];
    return lately && before ? most(lately, before) : (lately ?? before);
  }

  function amountFor(account: Account<Waiter>, wish: PendingCall): Amount {
    const { key, asked, price, facts } = wish;
    const largest = largestOf(account, wish);
    const known = historyOf(wish);
    const history = known === undefined ? facts?.context : 2 * known;
    // A token is a byte at least: whoever wants to can say things of which each is one.
    const tokens = { input: asked.input * bytesPerToken + (history ?? 0), output: asked.output ?? defaultOutput };
    const amount = { tokens: tokens.input + tokens.output, nano: costOf(price, tokens) ?? 0 };
    if (largest && history !== undefined) {
      return most(amount, { tokens: 2 * largest.tokens, nano: 2 * largest.nano });
    }
    for (const limit of limitsFor(key, price, now())) {
      const left = limit.most - spentOf(key, limit) - account.held[limit.of];
      amount[limit.of] = Math.max(amount[limit.of], left);
    }
    return amount;
  }

  function begin(account: Account<Waiter>, wish: PendingCall): Reservation {
    const { key, asked, price, facts } = wish;
    const known = historyOf(wish);
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
    const remember = (ids: SessionIds | undefined, sum: number) => {
      if (ids) histories.learn(ownerOf(wish), ids, Math.min(sum, mostHistory));
    };
    return {
      history: known ?? largestOf(account, wish)?.tokens ?? 0,
      cost: (tokens) => usdIn(costOf(price, tokens)),
      settle(claimed, { took, ids } = { took: 0 }) {
        const tokens = claimed.estimated ? claimed : believable(claimed, { window: facts?.context, took });
        const nano = costOf(price, tokens);
        end(() => {
          const spent = { tokens: tokens.input + tokens.output, nano: nano ?? 0 };
          usage.owe(key.id, spent);
          learn(account, asked.target, spent);
          // An estimate says nothing of what is stored.
          if (!tokens.estimated) for (const each of [asked.ids, ids]) remember(each, spent.tokens);
        });
        return { ...usdIn(nano), ...(tokens !== claimed && { tokens }) };
      },
      // What was said is stored all the same, where it came that far.
      release: () => end(() => known !== undefined && remember(asked.ids, known + asked.input)),
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

  function waitFor(account: Account<Waiter>, wish: PendingCall, signal: AbortSignal) {
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
      const timer = setTimeout(() => giveUp(() => stillBlocked(account, wish, timeout)), timeout);
      signal.addEventListener("abort", leave, { once: true });
      account.waiting.push(waiter);
    });
  }

  function stillBlocked(account: Account<Waiter>, wish: PendingCall, waited: number): Refusal | unknown {
    try {
      const by = blocked(account, wish) ?? limitsFor(wish.key, wish.price, now())[0] ?? "others";
      if (by === "others") return tooManyAtOnce(wish.key, wish.key.concurrency ?? defaultConcurrency, waited);
      return heldByOthers(wish.key, by, waited);
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
      const facts = of(asked.provider ?? "", asked.model);
      const price = priceOf(facts);
      if (key.budget && !price) throw noPrice(key, asked.model);
      const wish: PendingCall = { key, asked, price, facts };
      const isBlocked = blocked(account, wish) !== undefined;
      if (!isBlocked && account.waiting.length === 0) return begin(account, wish);
      const turn = waitFor(account, wish, signal);
      // A new day or another limit may have made room since those who wait were looked at.
      serve(account);
      return turn;
    },
  };
}
