import { expect, test } from "vitest";
import { editDistance, nearest } from "../../../src/text/nearest.js";

test.each([
  ["", "", 0],
  ["wolf", "wolf", 0],
  ["wolf", "wof", 1],
  ["wolf", "wolfe", 1],
  ["wolf", "golf", 1],
  ["wolf", "owlf", 1],
  ["wolf", "", 4],
  ["kitten", "sitting", 3],
])("from %j to %j it takes %i", (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance);
  expect(editDistance(b, a)).toBe(distance);
});

test.each([
  ["wofl-i", ["lab-1", "wolf-i", "wolf-ii"], "wolf-i"],
  ["lab1", ["lab-1", "lab-2"], "lab-1"],
  ["bear", ["lab-1", "wolf-i"], undefined],
  ["user.md", ["MEMORY.md", "USER.md", "SOUL.md"], "USER.md"],
  ["x", ["y"], undefined],
  ["", ["a"], undefined],
  ["lab-1", [], undefined],
])("%j among %j means %j", (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected);
});
