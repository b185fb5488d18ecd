import { Refusal } from "./refusal.js";

// Milliseconds without it, after which it is news again.
const quiet = 60_000;

/**
 * What a caller is not told is told to who runs the gateway. A refusal that has a cause here (a full disk, say) comes at every
 * request, so it is told once for as long as it goes on.
 */
export function reportOnce(tell: (error: unknown) => void, now: () => number = Date.now): (error: unknown) => void {
  const met = new Map<string, number>();
  return (error) => {
    if (error instanceof Refusal) {
      const before = met.get(error.code);
      met.set(error.code, now());
      if (before !== undefined && Math.abs(now() - before) < quiet) return;
    }
    tell(error);
  };
}
