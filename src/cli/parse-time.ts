import type { Moment } from "../agents/logs/script.js";
import { Fault } from "../errors.js";

const seconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const duration = /^(?:\d+[smhdw])+$/;
const clock = "(?:[01]?\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?";
const pattern = new RegExp(`^(?:(${clock})|(\\d{4}-\\d\\d-\\d\\d)(?:[ T](${clock})(Z|[+-]\\d\\d:?\\d\\d)?)?)$`);

/** Parses `15m` (ago, by the host's own clock), `09:30` (today), a date, or both; in this machine's zone or UTC. */
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
  const [match, today, date, time = today ?? "00:00", zone] = pattern.exec(text) ?? [];
  if (match === undefined) return undefined;
  const day = date ?? new Date(now.getTime() - (utc ? 0 : now.getTimezoneOffset() * 60_000)).toISOString().slice(0, 10);
  // Date.parse takes 30 February for 2 March.
  const midnight = Date.parse(`${day}T00:00Z`);
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return undefined;
  const offset = zone?.replace(/(\d\d):?(\d\d)$/, "$1:$2") ?? (utc ? "Z" : "");
  const at = Date.parse(`${day}T${time.replace(/^\d:/, "0$&")}${offset}`);
  return Number.isNaN(at) ? undefined : at;
}
