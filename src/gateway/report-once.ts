import { Refusal } from "./request/refusal.js";

// Milliseconds after which the same refusal is reported again.
const quiet = 60_000;

/** The gateway's own faults, such as a full disk, come with every request: each is reported once while it lasts. */
export function reportOnce(report: (error: unknown) => void, now: () => number = Date.now): (error: unknown) => void {
  const met = new Map<string, number>();
  return (error) => {
    if (error instanceof Refusal) {
      const before = met.get(error.code);
      met.set(error.code, now());
      if (before !== undefined && Math.abs(now() - before) < quiet) return;
    }
    report(error);
  };
}
