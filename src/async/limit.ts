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

/** Starts the work for every item, at most `most` at once. */
export function atMost<Item, Result>(
  most: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result>[] {
  const slot = limit(most);
  return items.map((item) => slot(() => work(item)));
}

/**
 * Does the work for every item, at most `most` at once, and waits for all of them even when some fail: nothing may
 * still be running when the caller reports. Throws the first failure by order of the items.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const settled = await Promise.allSettled(atMost(most, items, work));
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
