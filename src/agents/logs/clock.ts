import type { Clock } from "./entry.js";

/** By the zone's name: a line may be written in summer and read in winter. Unknown zones use the current offset. */
export function clockOf(offset: string, zone: string): Clock {
  const [, sign = "+", hours = "0", minutes = "0"] = /^([+-])(\d\d)(\d\d)$/.exec(offset) ?? [];
  const now = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000);
  const ahead = aheadIn(zone);
  if (!ahead) return (local) => local - now;
  // The offset at that time, found from the offset at about that time.
  return (local) => local - ahead(local - ahead(local - now));
}

/** Milliseconds by which a zone is ahead of UTC. */
function aheadIn(zone: string): ((at: number) => number) | undefined {
  try {
    const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
    const known = new Map<number, number>();
    return (at) => {
      // Clocks change at quarters of an hour.
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
