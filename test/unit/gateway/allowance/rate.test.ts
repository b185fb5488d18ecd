import fc from "fast-check";
import { expect, it } from "vitest";
import { Rate } from "../../../../src/gateway/allowance/rate.js";

it("gives the exact time of the next request", () => {
  const rate = new Rate();
  expect([rate.count(2, 1000), rate.count(2, 31_000), rate.count(2, 40_000)]).toEqual([undefined, undefined, 21_000]);
  expect([rate.count(2, 60_999), rate.count(2, 61_000)]).toEqual([1, undefined]);
});

it("goes by a smaller limit at once", () => {
  const rate = new Rate();
  for (const at of [0, 1000, 2000]) rate.count(3, at);
  expect([rate.count(1, 3000), rate.count(1, 61_999), rate.count(1, 62_000)]).toEqual([59_000, 1, undefined]);
});

it("drops future entries after the clock was set back", () => {
  const rate = new Rate();
  rate.count(1, 1_000_000);
  expect(rate.count(1, 5000)).toBeUndefined();
});

it("never exceeds the limit in any minute, and refuses no request that fits", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 60 }),
      (most, gaps) => {
        const rate = new Rate();
        const let_in: number[] = [];
        let at = 0;
        for (const gap of gaps) {
          at += gap;
          const recent = let_in.filter((time) => time > at - 60_000).length;
          const pause = rate.count(most, at);
          expect(pause === undefined).toBe(recent < most);
          if (pause === undefined) let_in.push(at);
          else expect(let_in.filter((time) => time > at + pause - 60_000).length).toBeLessThan(most);
        }
      },
    ),
  );
});
