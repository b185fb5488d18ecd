import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { inParallel, limit } from "../../../src/async/limit.js";

/** Work that takes a few turns of the loop, and the most of it that was ever under way. */
function workplace() {
  const seen = { now: 0, most: 0, begun: [] as number[] };
  const work =
    (item: number, turns = 3) =>
    async () => {
      seen.begun.push(item);
      seen.most = Math.max(seen.most, ++seen.now);
      for (let i = 0; i < turns; i++) await turn();
      seen.now--;
      if (item < 0) throw new Error(`item ${item}`);
      return item;
    };
  return { seen, work };
}

const items = Array.from({ length: 20 }, (_, at) => at + 1);

describe("limit", () => {
  it.each([1, 2, 7, 20, 50])("does at most %i at once, and as many as that", async (most) => {
    const { seen, work } = workplace();
    const slot = limit(most);
    const answers = await Promise.all(items.map((item) => slot(work(item, 1 + (item % 5)))));
    expect(answers).toEqual(items);
    expect(seen).toEqual({ now: 0, most: Math.min(most, items.length), begun: items });
  });

  it("begins at once when there is room", () => {
    const { seen, work } = workplace();
    void limit(2)(work(1));
    expect(seen.begun).toEqual([1]);
  });

  it("is first come, first served", async () => {
    const { seen, work } = workplace();
    const slot = limit(1);
    const late: Promise<number>[] = [];
    const first = slot(work(1)).then(() => late.push(slot(work(4))));
    await Promise.all([first, slot(work(2)), slot(work(3))]);
    await Promise.all(late);
    expect(seen).toEqual({ now: 0, most: 1, begun: [1, 2, 3, 4] });
  });

  it("gives the place of work that fails to the next", async () => {
    const { seen, work } = workplace();
    const slot = limit(2);
    const ends = await Promise.allSettled([-1, 2, -3, -4, 5, 6].map((item) => slot(work(item))));
    const said = ends.map((end) => (end.status === "fulfilled" ? end.value : end.reason.message));
    expect(said).toEqual(["item -1", 2, "item -3", "item -4", 5, 6]);
    expect(await Promise.all(items.map((item) => slot(work(item))))).toEqual(items);
    expect(seen).toMatchObject({ now: 0, most: 2 });
  });

  it("is not stuck by work that throws before it waits for anything", async () => {
    const slot = limit(1);
    const thrown = slot(() => {
      throw new Error("at once");
    });
    await expect(thrown).rejects.toThrow("at once");
    expect(await slot(async () => "next")).toBe("next");
  });
});

describe("in parallel", () => {
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

  it("completes everything before it reports the first failure", async () => {
    const done: number[] = [];
    const work = inParallel([1, 2, 3, 4], 2, async (item) => {
      await turn();
      if (item % 2 === 1) throw new Error(`item ${item}`);
      done.push(item);
    });
    await expect(work).rejects.toThrow("item 1");
    expect(done).toEqual([2, 4]);
  });
});
