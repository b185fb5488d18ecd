import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { inParallel } from "../../../src/lab/parallel.js";

it("keeps the order and never does more at once than allowed", async () => {
  let now = 0;
  let most = 0;
  const doubled = await inParallel([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    most = Math.max(most, ++now);
    for (let i = 0; i < 8 - item; i++) await turn();
    now--;
    return item * 2;
  });
  expect(doubled).toEqual([2, 4, 6, 8, 10, 12, 14]);
  expect(most).toBe(3);
});

it("finishes all of it before it says what failed first", async () => {
  const done: number[] = [];
  const work = inParallel([1, 2, 3, 4], 2, async (item) => {
    await turn();
    if (item % 2 === 1) throw new Error(`item ${item}`);
    done.push(item);
  });
  await expect(work).rejects.toThrow("item 1");
  expect(done).toEqual([2, 4]);
});
