import type { Moment } from "../agents/logs/script.js";
import { Fault } from "../errors.js";

const seconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const duration = /^(?:\d+[smhdw])+$/;
const clockTime = /^(\d\d?):(\d\d)(?::(\d\d))?$/;
const date = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * Parses `15m` (ago), `09:30` (today), a date, or a date and a time. The default time zone is this machine's, or UTC. A time
 * ago stays relative: the host computes it by its own clock.
 */
export function parseTime(option: string, text: string, { now, utc }: { now: Date; utc: boolean }): Moment {
  if (duration.test(text)) {
    const parts = [...text.matchAll(/(\d+)([smhdw])/g)];
    return { ago: parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (seconds[unit] ?? 0), 0) };
  }
  const at = timeIn(text, now, utc);
  if (at === undefined) {
    throw new Fault("bad-input", `${option} ${text} is not a time`, {
      why: "use 90s, 15m, 2h, 3d (ago), 09:30, 2026-11-16, '2026-11-16 09:30' or 2026-11-16T09:30:00Z",
    });
  }
  return { at: Math.floor(at / 1000) };
}

/** Parses a time to seconds since 1970, by this machine's clock. */
export function parseTimeAsSeconds(option: string, text: string, now: Date): number {
  const time = parseTime(option, text, { now, utc: false });
  return "at" in time ? time.at : now.getTime() / 1000 - time.ago;
}

function timeIn(text: string, now: Date, utc: boolean): number | undefined {
  const [, hour, minute, second = "0"] = clockTime.exec(text) ?? [];
  if (hour !== undefined) {
    const day = utc
      ? [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
      : [now.getFullYear(), now.getMonth(), now.getDate()];
    return millisecondsOf([...day, Number(hour), Number(minute), Number(second)], utc);
  }
  const [, year, month, day, hours = "0", minutes = "0", rest = "0", zone] = date.exec(text) ?? [];
  if (year === undefined) return undefined;
  const parts = [year, month, day, hours, minutes, rest].map(Number);
  const at = millisecondsOf([parts[0] ?? 0, (parts[1] ?? 0) - 1, ...parts.slice(2)], utc || zone !== undefined);
  return at === undefined ? undefined : at - zoneOffset(zone);
}

/** Undefined for a time that does not exist, such as 30 February: `Date` would take it for another one. */
function millisecondsOf([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0]: number[], utc: boolean) {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const real = new Date(Date.UTC(year, month, day));
  if (real.getUTCMonth() !== month || real.getUTCDate() !== day) return undefined;
  return utc
    ? Date.UTC(year, month, day, hour, minute, second)
    : new Date(year, month, day, hour, minute, second).getTime();
}

function zoneOffset(zone: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone ?? "") ?? [];
  return (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * (sign === "-" ? -60_000 : 60_000);
}
