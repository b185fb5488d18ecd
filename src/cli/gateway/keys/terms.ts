import { Fault } from "../../../errors.js";
import type { GatewayKey } from "../../../state/gateway-keys.js";
import { parseTime } from "../../parse-time.js";

/** Milliseconds; 90s, 30m, 1h, 2d, 1w or some of them in a row. */
export function lengthFrom(option: string, text: string, now: Date): number {
  const moment = /^[\dsmhdw]+$/.test(text) ? soon(option, text, now) : undefined;
  if (moment && "ago" in moment && moment.ago > 0) return moment.ago * 1000;
  throw new Fault("bad-input", `${option} ${text} is not a duration`, { why: "it can be 30m, 1h, 2d or 1w" });
}

/** A duration from now, a date, or a date and a time. */
export function endFrom(option: string, text: string, now: Date): Date {
  const moment = soon(option, text, now);
  const end = "ago" in moment ? now.getTime() + moment.ago * 1000 : moment.at * 1000;
  if (Number.isFinite(end) && Math.abs(end) < 8.64e15) return new Date(end);
  throw noEnd(option, text);
}

function soon(option: string, text: string, now: Date) {
  try {
    return parseTime(option, text, { now, utc: false });
  } catch {
    throw noEnd(option, text);
  }
}

const noEnd = (option: string, text: string) =>
  new Fault("bad-input", `${option} ${text} is not a time`, {
    why: "it can be 12h, 30d (from now), 2027-01-01, '2027-01-01 09:30' or 2027-01-01T09:30:00Z",
  });

/** `20` in total, `5/day` or `50/month`. */
export function budgetFrom(text: string): NonNullable<GatewayKey["budget"]> {
  const [, amount, per = "ever"] = /^\$?(\d{1,9}(?:\.\d{1,6})?)(?:\/(day|month))?$/.exec(text) ?? [];
  const usd = Number(amount);
  if (usd > 0) return { usd, per: per as "day" | "month" | "ever" };
  throw new Fault("bad-input", `--budget-usd ${text} is not a budget`, {
    why: "it is an amount above 0: 20 in total, 5/day or 50/month",
  });
}
