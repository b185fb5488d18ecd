/** Requests of the last minute: a sliding window, so that no more than the limit fall into any 60 seconds. */
export interface Rate {
  /** Counts a request, or gives the milliseconds until one more is allowed. */
  count(most: number, now: number): number | undefined;
}

const window = 60_000;

export function createRate(): Rate {
  let times: number[] = [];
  let first = 0;
  return {
    count(most, now) {
      // A clock that was set back leaves times that are still to come; they are nobody's.
      if ((times.at(-1) ?? 0) > now) {
        times = times.slice(first).filter((time) => time <= now);
        first = 0;
      }
      while (first < times.length && (times[first] ?? 0) <= now - window) first++;
      if (first > 1024 && first * 2 > times.length) {
        times = times.slice(first);
        first = 0;
      }
      const over = times.length - first - most;
      // When the limit was made smaller, more than one has to leave.
      if (over >= 0) return (times[first + over] ?? now) + window - now;
      times.push(now);
      return undefined;
    },
  };
}
