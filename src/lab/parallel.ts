/**
 * Does the work for every item, at most `limit` at a time, and waits for all of them even when some fail: nothing may
 * still be running when the caller reports. Throws the first failure by order of the items.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const settled: PromiseSettledResult<Result>[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [at, item] of queue) {
      settled[at] = await work(item).then(
        (value) => ({ status: "fulfilled", value }),
        (reason: unknown) => ({ status: "rejected", reason }),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
