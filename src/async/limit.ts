/** Runs at most `most` at once; the others wait, first come first served. */
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
      // The slot is handed over, not given back, so that no other caller can slip in between.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

export function atMost<Item, Result>(
  most: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result>[] {
  const slot = limit(most);
  return items.map((item) => slot(() => work(item)));
}

/** Waits for all even when some fail: nothing may run on when the caller reports. Throws the first item's failure. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  return (await Promise.allSettled(atMost(most, items, work))).map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
