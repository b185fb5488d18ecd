import type { GatewayKey } from "../request/gateway-key.js";
import { Refusal } from "../request/refusal.js";
import { type Amount, dayOf, nanoOf } from "./totals.js";

export interface Limit {
  resource: keyof Amount;
  max: number;
  /** A day, a month, or `ever`, as in `Usage.spent`. */
  period: string;
  /** The end of the period, if it has one. */
  resets?: Date;
}

/** Days and months in UTC. */
export function limitsOf({ tokens_per_day, budget }: GatewayKey, now: Date): Limit[] {
  if (tokens_per_day === undefined && !budget) return [];
  const day = dayOf(now);
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const midnight = new Date(Date.UTC(year, month, date + 1));
  const limits: Limit[] = [];
  if (tokens_per_day !== undefined)
    limits.push({ resource: "tokens", max: tokens_per_day, period: day, resets: midnight });
  if (budget) {
    const max = nanoOf(budget.usd);
    if (budget.per === "ever") limits.push({ resource: "nano", max, period: "ever" });
    else if (budget.per === "day") limits.push({ resource: "nano", max, period: day, resets: midnight });
    else
      limits.push({ resource: "nano", max, period: day.slice(0, 7), resets: new Date(Date.UTC(year, month + 1, 1)) });
  }
  return limits;
}

const secondsUntil = (then: Date, now: Date): number => Math.max(1, Math.ceil((then.getTime() - now.getTime()) / 1000));

export function usedUp(key: GatewayKey, { resource, resets }: Limit, now: Date): Refusal {
  const again = resets
    ? `It resets at ${resets.toISOString().replace(":00.000Z", "Z")}.`
    : "It does not reset; create another key with: clm gateway key create";
  return limitRefusal(key, resource, `is used up. ${again}`, resets && secondsUntil(resets, now));
}

/** Other requests have reserved what is left, and none of them ended in time. */
export const heldByOthers = (key: GatewayKey, { resource }: Limit, waited: number): Refusal =>
  limitRefusal(key, resource, `is reserved by other requests, and none ended within ${waited / 1000} s.`, 5);

export const tooManyAtOnce = (key: GatewayKey, max: number, waited: number): Refusal =>
  new Refusal(
    429,
    "concurrency_exceeded",
    `This key (${key.name}) may have ${max} calls in flight at once, and none ended within ${waited / 1000} s.`,
    { retryAfter: 5 },
  );

function limitRefusal(
  key: GatewayKey,
  resource: Limit["resource"],
  what: string,
  retryAfter: number | undefined,
): Refusal {
  if (resource === "tokens") {
    const message = `The allowance of this key (${key.name}), ${key.tokens_per_day} tokens a day, ${what}`;
    return new Refusal(429, "tokens_per_day_exceeded", message, { retryAfter });
  }
  const { usd = 0, per = "ever" } = key.budget ?? {};
  const budget = `${usd} USD${per === "ever" ? "" : ` a ${per}`}`;
  const message = `The budget of this key (${key.name}), ${budget}, ${what}`;
  // OpenAI's own type, which its clients do not mistake for too many requests.
  return new Refusal(429, "insufficient_quota", message, { type: "insufficient_quota", retryAfter });
}

export const tooFast = (key: GatewayKey, milliseconds: number): Refusal => {
  const retryAfter = Math.max(1, Math.ceil(milliseconds / 1000));
  const message = `This key (${key.name}) may send ${key.rpm} requests a minute. Try again in ${retryAfter} s.`;
  return new Refusal(429, "rate_limit_exceeded", message, { retryAfter });
};

export const noPrice = (key: GatewayKey, model: string): Refusal =>
  new Refusal(
    403,
    "price_unknown",
    `This key (${key.name}) has a budget, and the price of ${model} is not known. Add it to models.yaml in clm's config directory, or create a key without --budget-usd.`,
  );
