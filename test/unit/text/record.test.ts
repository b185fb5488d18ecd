import { expect, test } from "vitest";
import { isRecord, mergeDeep } from "../../../src/text/record.js";

test.each([
  [{}, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  ["text", false],
])("isRecord %j: %s", (value, expected) => {
  expect(isRecord(value)).toBe(expected);
});

test("merges records and replaces everything else", () => {
  const below = { a: { b: 1, c: [1, 2] }, d: 1 };
  expect(mergeDeep(below, { a: { c: [3] }, d: { e: 2 } })).toEqual({ a: { b: 1, c: [3] }, d: { e: 2 } });
  expect(below).toEqual({ a: { b: 1, c: [1, 2] }, d: 1 });
});

test("takes __proto__ for a name", () => {
  const merged = mergeDeep({}, JSON.parse('{"__proto__": {"polluted": true}}'));
  expect(Object.keys(merged)).toEqual(["__proto__"]);
  expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
});
