import { expect, it } from "vitest";
import { believable } from "../../../../src/gateway/allowance/claims.js";

const cases: [
  about: string,
  claim: [input: number, output: number],
  window: number | undefined,
  seconds: number,
  counted: object,
][] = [
  ["a call", [7, 5], 1000, 0, { input: 7, output: 5 }],
  ["a whole window", [1000, 0], 1000, 0, { input: 1000, output: 0 }],
  ["more than a window at once", [1001, 5], 1000, 0, { input: 1000, output: 5, claimed: { input: 1001, output: 5 } }],
  ["an agent with tools", [9000, 500], 1000, 10, { input: 9000, output: 500 }],
  ["a long answer", [0, 5000], 1000, 1, { input: 0, output: 2000, claimed: { input: 0, output: 5000 } }],
  ["a day", [1e9, 0], 1000, 86_400, { input: 100_000, output: 0, claimed: { input: 1e9, output: 0 } }],
  ["a window that nobody knows", [200_000, 0], undefined, 0, { input: 200_000, output: 0 }],
  ["a clock that was set back", [5, 5], 1000, -100, { input: 5, output: 5 }],
];
it.each(cases)("%s", (_about, [input, output], window, seconds, counted) =>
  expect(believable({ input, output }, { window, took: seconds * 1000 })).toEqual(counted),
);
