import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonErrorPosition } from "../../../src/state/json-error-position.js";

test.each([
  ['{"a": 1,}', 1, 9],
  ['{"a": 1 "b": 2}', 1, 9],
  ['{\n  "a": x\n}', 2, 8],
  ['{\n  "a": [1, 2\n}', 3, 1],
  ['{"a": 1', 1, 8],
  ['{"a": "unfinished', 1, 7],
  ['{"a": 01}', 1, 8],
  ["{'a': 1}", 1, 2],
  ["{1: 2}", 1, 2],
  ['{"a" 1}', 1, 6],
  ["[1,,2]", 1, 4],
  ["[1}", 1, 3],
  ["[] []", 1, 4],
  ["]", 1, 1],
  ["\ufeff{}", 1, 1],
])("%j breaks at line %i, column %i", (text, line, column) => {
  expect(() => JSON.parse(text)).toThrow();
  expect(jsonErrorPosition(text)).toEqual({ line, column });
});

test("JSON that was cut anywhere breaks at its end or in its last word", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, at) => {
      const cut = text.slice(0, at % text.length);
      const { line, column } = jsonErrorPosition(cut);
      expect(line).toBe(1);
      const rest = cut.slice(column - 1);
      // Nothing that is complete stands after the place.
      expect(rest === "" || /^(".*|-?[\d.eE+-]*|[a-z]+)$/s.test(rest)).toBe(true);
    }),
  );
});
