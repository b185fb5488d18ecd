import { expect, expectTypeOf, test } from "vitest";
import {
  also,
  list,
  nullable,
  number,
  object,
  objectionText,
  oneOf,
  optional,
  record,
  type Shape,
  type TypeOf,
  text,
  whole,
} from "../../../src/state/shape.js";

const pet = object({ name: text, legs: optional(whole(0, 8)) });

test.each<[Shape<unknown>, unknown]>([
  [text, ""],
  [number, 1.5],
  [whole(1, 3), 3],
  [oneOf("a", "b"), "b"],
  [optional(text), undefined],
  [nullable(text), null],
  [list(text), []],
  [list(text), ["a"]],
  [record(number), { a: 1 }],
  [pet, { name: "rex" }],
  [pet, { name: "rex", legs: 4, colour: "red" }],
])("%# is valid", (shape, value) => {
  expect(shape.objection(value)).toBeUndefined();
});

test.each<[Shape<unknown>, unknown, string]>([
  [text, 1, "the file should be a string"],
  [number, "1", "the file should be a number"],
  [whole(1, 3), 4, "the file should be a whole number from 1 to 3"],
  [whole(1, 3), 1.5, "the file should be a whole number from 1 to 3"],
  [oneOf("a", "b"), "c", "the file should be one of a, b"],
  [optional(text), null, "the file should be a string"],
  [nullable(text), undefined, "the file should be a string"],
  [list(text), { 0: "a" }, "the file should be a list"],
  [list(text), ["a", 2], "[1] should be a string"],
  [record(number), [], "the file should be an object"],
  [record(number), null, "the file should be an object"],
  [record(number), { "a b": "" }, '["a b"] should be a number'],
  [pet, "rex", "the file should be an object"],
  [pet, {}, "name is missing"],
  [pet, { name: "rex", legs: 9 }, "legs should be a whole number from 0 to 8"],
  [
    object({ zoo: object({ pets: list(pet) }) }),
    { zoo: { pets: [{ name: 1 }] } },
    "zoo.pets[0].name should be a string",
  ],
  [also(list(text), "should not be empty", (all) => all.length > 0), [], "the file should not be empty"],
  [also(list(text), "should not be empty", (all) => all.length > 0), 1, "the file should be a list"],
])("%# is objected to", (shape, value, expected) => {
  const found = shape.objection(value);
  expect(found && objectionText(found)).toBe(expected);
});

test("the type follows the shape", () => {
  expectTypeOf<TypeOf<typeof pet>>().toEqualTypeOf<{ name: string; legs?: number | undefined }>();
  const choice = oneOf("a", "b");
  expectTypeOf<TypeOf<typeof choice>>().toEqualTypeOf<"a" | "b">();
});
