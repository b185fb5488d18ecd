import type { ModelFacts, Models } from "../../agents/manifest/models.js";
import { waitFor } from "../../async/wait.js";
import { bytesPerToken } from "../../text/tokens.js";
import type { Tokens } from "../request/gateway-call.js";
import type { GatewayKey } from "../request/gateway-key.js";
import { Refusal } from "../request/refusal.js";
import type { SessionIds } from "../request/session-ids.js";
import { Account, twice } from "./account.js";
import { believable } from "./claims.js";
import { Histories } from "./histories.js";
import { heldByOthers, type Limit, limitsOf, noPrice, tooFast, tooManyAtOnce, usedUp } from "./limits.js";
import { type Amount, largerOf, usdOf } from "./totals.js";
import type { Usage } from "./usage.js";

export interface CallEstimate {
  /** `host/agent` or `host/agent/proxy`. */
  target: string;
  /** The type of the provider, and the model: they determine the price. */
  provider?: string | undefined;
  model: string;
  /** Tokens, by the length of the request. */
  input: number;
  /** The maximum tokens of the answer, if the caller set one. */
  output?: number | undefined;
  /** What the agent loads by them is added to the input. */
  ids?: SessionIds;
}

/** Either settled or released, once; later calls do nothing. */
export interface Reservation {
  /** Estimated tokens that the agent adds to the input from what it has stored. */
  readonly history?: number;
  /** The price of so many tokens, if known. */
  cost(tokens: Tokens): { usd?: number };
  /** Counts what was used. Returns what is counted when that is less than reported: an agent may report anything. */
  settle(tokens: Tokens, answer?: AnswerFacts): { usd?: number; tokens?: Tokens };
  release(): void;
}

export interface AnswerFacts {
  /** Milliseconds that the agent worked. */
  took: number;
  /** The ids under which the agent stored it. */
  ids?: SessionIds | undefined;
}

export interface AllowanceParts {
  models: () => Pick<Models, "of"> | Promise<Pick<Models, "of">>;
  usage: Pick<Usage, "addUnlogged" | "spent" | "largest">;
  histories?: Histories;
  now: () => Date;
  /** Milliseconds that a request waits for others. */
  timeout?: number;
}

interface PendingCall {
  key: GatewayKey;
  estimate: CallEstimate;
  price: Price | undefined;
  facts: ModelFacts | undefined;
}

interface Waiter extends PendingCall {
  admit(reservation: Reservation): void;
  refuse(why: unknown): void;
}

// Tokens. No model's window holds as much.
const maxHistory = 100_000_000;
/** Tokens that are reserved for an answer at least, when the caller set no maximum. */
export const defaultOutput = 1024;
/** Calls in flight at once of a key with a limit, when the key does not say. */
export const defaultConcurrency = 8;

/**
 * What keys may use. A request starts while the amount spent and the amounts reserved by others are below the limit. It reserves
 * what it sends, twice what its session is known to hold, and at least twice the largest call of its key on its target so far. An
 * unknown session may hold the model's whole window; where that is unknown too, or the key has not called this target yet, the call
 * reserves all that is left. So, however many arrive at once, a limit is passed by no more than one call, as long as no call costs
 * more than it reserved; and whatever agents do, by no more calls than may be in flight at once.
 */
export class Allowance {
  readonly #accounts = new Map<string, Account<Waiter>>();
  readonly #parts: Required<AllowanceParts>;

  constructor(parts: AllowanceParts) {
    this.#parts = { histories: new Histories(), timeout: 60_000, ...parts };
  }

  /** Counts a request, whatever it asks for, against the key's rpm. */
  count(key: GatewayKey): void {
    if (key.rpm === undefined) return;
    const pause = this.#accountOf(key).rate.count(key.rpm, this.#parts.now().getTime());
    if (pause !== undefined) throw tooFast(key, pause);
  }

  /** Reserves tokens and money. Waits, first come first served, while others hold the rest of a limit that is not spent yet. */
  async reserve(key: GatewayKey, estimate: CallEstimate, signal: AbortSignal): Promise<Reservation> {
    const models = this.#parts.models();
    const { of } = models instanceof Promise ? await models : models;
    signal.throwIfAborted();
    const account = this.#accountOf(key);
    const facts = of(estimate.provider ?? "", estimate.model);
    const price = priceOf(facts);
    if (key.budget && !price) throw noPrice(key, estimate.model);
    const call: PendingCall = { key, estimate, price, facts };
    const blocked = this.#blockedBy(account, call);
    if (blocked instanceof Refusal) throw blocked;
    if (!blocked && account.waiting.length === 0) return this.#begin(account, call);
    const turn = this.#waitFor(account, call, signal);
    // A new day or a changed limit may have made room for waiting calls.
    this.#serve(account);
    return turn;
  }

  #accountOf({ id }: GatewayKey): Account<Waiter> {
    const account = this.#accounts.get(id) ?? new Account<Waiter>();
    this.#accounts.set(id, account);
    return account;
  }

  /** The limits that a call counts against: a free model cannot overspend a budget. */
  #limitsFor({ key, price }: PendingCall, at: Date): Limit[] {
    return limitsOf(key, at).filter(({ resource }) => resource === "tokens" || !isFree(price));
  }

  #spent({ id }: GatewayKey, { resource, period }: Limit): number {
    return this.#parts.usage.spent(id, period)[resource];
  }

  /** What a call waits for; undefined when it may start, and a refusal when a limit is used up. */
  #blockedBy(account: Account<Waiter>, call: PendingCall): Limit | "others" | Refusal | undefined {
    const { key } = call;
    const at = this.#parts.now();
    const limits = this.#limitsFor(call, at);
    const full = limits.find((limit) => this.#spent(key, limit) >= limit.max);
    if (full) return usedUp(key, full, at);
    if (limits.length > 0 && account.inFlight >= (key.concurrency ?? defaultConcurrency)) return "others";
    return limits.find((limit) => this.#spent(key, limit) + account.held[limit.resource] >= limit.max);
  }

  /** Undefined for an unknown session. */
  #historyOf(call: PendingCall): number | undefined {
    return call.estimate.ids ? this.#parts.histories.of(ownerOf(call), call.estimate.ids) : 0;
  }

  #largestOf(account: Account<Waiter>, { key, estimate: { target } }: PendingCall): Amount | undefined {
    const [recent, earlier] = [account.largest(target), this.#parts.usage.largest(key.id, target)];
    return recent && earlier ? largerOf(recent, earlier) : (recent ?? earlier);
  }

  #amountFor(account: Account<Waiter>, call: PendingCall): Amount {
    const { key, estimate, price, facts } = call;
    const largest = this.#largestOf(account, call);
    const known = this.#historyOf(call);
    const history = known === undefined ? facts?.context : 2 * known;
    // A token has at least one byte, and a caller can choose a text in which each byte is a token.
    const tokens = { input: estimate.input * bytesPerToken + (history ?? 0), output: estimate.output ?? defaultOutput };
    const amount = { tokens: tokens.input + tokens.output, nano: costOf(price, tokens) ?? 0 };
    if (largest && history !== undefined) return largerOf(amount, twice(largest));
    for (const limit of this.#limitsFor(call, this.#parts.now())) {
      amount[limit.resource] = Math.max(
        amount[limit.resource],
        limit.max - this.#spent(key, limit) - account.held[limit.resource],
      );
    }
    return amount;
  }

  #begin(account: Account<Waiter>, call: PendingCall): Reservation {
    const { key, estimate, price, facts } = call;
    const { usage, histories } = this.#parts;
    const known = this.#historyOf(call);
    const hold = { target: estimate.target, amount: this.#amountFor(account, call) };
    account.hold(hold);
    const end = (work: () => void) => {
      if (!account.release(hold)) return;
      work();
      this.#serve(account);
    };
    const learn = (ids: SessionIds | undefined, tokens: number) => {
      if (ids) histories.learn(ownerOf(call), ids, Math.min(tokens, maxHistory));
    };
    return {
      history: known ?? this.#largestOf(account, call)?.tokens ?? 0,
      cost: (tokens) => usdIn(costOf(price, tokens)),
      settle(reported, { took, ids } = { took: 0 }) {
        const tokens = reported.estimated ? reported : believable(reported, { window: facts?.context, took });
        const nano = costOf(price, tokens);
        end(() => {
          const spent = { tokens: tokens.input + tokens.output, nano: nano ?? 0 };
          usage.addUnlogged(key.id, spent);
          account.learn(estimate.target, spent);
          // An estimate says nothing about what is stored.
          if (!tokens.estimated) for (const each of [estimate.ids, ids]) learn(each, spent.tokens);
        });
        return { ...usdIn(nano), ...(tokens !== reported && { tokens }) };
      },
      // The agent may have stored the request all the same.
      release: () => end(() => known !== undefined && learn(estimate.ids, known + estimate.input)),
    };
  }

  /** Starts the calls that may, in the order of their arrival. */
  #serve(account: Account<Waiter>): void {
    for (let first = account.waiting[0]; first; first = account.waiting[0]) {
      const blocked = this.#blockedBy(account, first);
      if (blocked && !(blocked instanceof Refusal)) return;
      account.waiting.shift();
      if (blocked) first.refuse(blocked);
      else first.admit(this.#begin(account, first));
    }
  }

  #waitFor(account: Account<Waiter>, call: PendingCall, signal: AbortSignal): Promise<Reservation> {
    const waiter: Waiter = { ...call, admit() {}, refuse() {} };
    const turn = new Promise<Reservation>((admit, refuse) => Object.assign(waiter, { admit, refuse }));
    account.waiting.push(waiter);
    const { timeout } = this.#parts;
    const late = () => this.#timedOut(account, call);
    return waitFor(turn, { signal, timeout, late, drop: ({ release }) => release() }).catch((why) => {
      account.waiting = account.waiting.filter((each) => each !== waiter);
      this.#serve(account);
      throw why;
    });
  }

  #timedOut(account: Account<Waiter>, call: PendingCall): Refusal {
    const { key } = call;
    const { timeout, now } = this.#parts;
    const by = this.#blockedBy(account, call) ?? this.#limitsFor(call, now())[0] ?? "others";
    if (by instanceof Refusal) return by;
    if (by === "others") return tooManyAtOnce(key, key.concurrency ?? defaultConcurrency, timeout);
    return heldByOthers(key, by, timeout);
  }
}

const ownerOf = ({ key, estimate }: PendingCall) => ({ key: key.id, target: estimate.target });
const usdIn = (nano: number | undefined) => (nano === undefined ? {} : { usd: usdOf(nano) });

/** Billionths of a dollar per token. */
interface Price {
  input: number;
  output: number;
}

function priceOf({ input, output }: ModelFacts = {}): Price | undefined {
  return input === undefined || output === undefined ? undefined : { input: input * 1000, output: output * 1000 };
}

const isFree = (price: Price | undefined): boolean => price?.input === 0 && price.output === 0;

const costOf = (price: Price | undefined, { input, output }: { input: number; output: number }): number | undefined =>
  price && Math.round(input * price.input + output * price.output);
