import { setTimeout as pause } from "node:timers/promises";

/** Each caller pauses between its requests, so that they do not compete. Returns the times of every answer. */
export async function steady(callers, { seconds, think, stream }) {
  const until = performance.now() + seconds * 1000;
  const times = [];
  await Promise.all(
    callers.map(async (caller) => {
      // Callers do not start together.
      await pause(Math.random() * think);
      while (performance.now() < until) {
        times.push(await caller.ask({ stream }));
        await pause(Math.random() * 2 * think);
      }
    }),
  );
  return times;
}

/** Each caller sends its next request as soon as it is answered. Returns the requests per second. */
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
