/** At most `most` pieces of work at once; the others wait their turn, first come first served. */
export type Limit = <T>(work: () => Promise<T>) => Promise<T>;

export function limit(most: number): Limit {
  let running = 0;
  const waiting: (() => void)[] = [];

  return async (work) => {
    if (running >= most) await new Promise<void>((turn) => waiting.push(turn));
    else running++;
    try {
      return await work();
    } finally {
      // The place is handed over, not given back, so that nobody can slip in between.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
