import { expect, expectTypeOf, test } from "vitest";
import { defined } from "../../../src/text/defined.js";

test("drops undefined members and nothing else", () => {
  const members = defined({ a: 1, b: undefined, c: null, d: false, e: 0, f: "" });
  expect(Object.keys(members)).toEqual(["a", "c", "d", "e", "f"]);
});

test("types a member that may be undefined as an optional one", () => {
  interface Options {
    name: string;
    port?: number;
  }
  const port = Math.random() > 2 ? 1 : undefined;
  const options: Options = defined({ name: "ada", port });
  expect(options).toEqual({ name: "ada" });
  expect("port" in options).toBe(false);
  expectTypeOf(defined({ name: "ada", port })).toEqualTypeOf<{ name: string; port?: number }>();
});
