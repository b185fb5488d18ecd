import { setTimeout as pause } from "node:timers/promises";

/** Each asks, thinks for a while, and asks again, so that nobody is in anybody's way. Gives every answer's times. */
export async function steady(callers, { seconds, think, stream }) {
  const until = performance.now() + seconds * 1000;
  const times = [];
  await Promise.all(
    callers.map(async (caller) => {
      // Not all at once.
      await pause(Math.random() * think);
      while (performance.now() < until) {
        times.push(await caller.ask({ stream }));
        await pause(Math.random() * 2 * think);
      }
    }),
  );
  return times;
}

/** Each asks again as soon as it is answered. Gives the requests a second. */
export async function flood(callers, { seconds, count = Number.POSITIVE_INFINITY }) {
  const begin = performance.now();
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : begin + seconds * 1000;
  let asked = 0;
  await Promise.all(
    callers.map(async (caller) => {
      while (asked < count && performance.now() < until) {
        asked++;
        await caller.ask();
      }
    }),
  );
  return (asked / (performance.now() - begin)) * 1000;
}

export function percentile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
