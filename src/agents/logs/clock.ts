import type { Clock } from "./line.js";

/**
 * How a host tells the time: by the name of its zone, as what was written in summer is read in winter. A zone nobody knows here
 * goes by what it is now.
 */
export function clockOf(offset: string, zone: string): Clock {
  const [, sign = "+", hours = "0", minutes = "0"] = /^([+-])(\d\d)(\d\d)$/.exec(offset) ?? [];
  const now = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000);
  const ahead = aheadIn(zone);
  if (!ahead) return (local) => local - now;
  // The difference at that moment, found by way of the difference at about that moment.
  return (local) => local - ahead(local - ahead(local - now));
}

/** Milliseconds that a zone's clocks are ahead of UTC. */
function aheadIn(zone: string): ((at: number) => number) | undefined {
  try {
    const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
    const known = new Map<number, number>();
    return (at) => {
      // Clocks are put forward and back at a quarter of an hour.
      const quarter = Math.floor(at / 900_000);
      const ahead = known.get(quarter) ?? offsetIn(format, quarter * 900_000);
      known.set(quarter, ahead);
      return ahead;
    };
  } catch {
    return undefined;
  }
}

function offsetIn(format: Intl.DateTimeFormat, at: number): number {
  const name = format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign, hours = "0", minutes = "0"] = /GMT([+-])(\d\d):?(\d\d)?/.exec(name) ?? [];
  return (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000);
}
