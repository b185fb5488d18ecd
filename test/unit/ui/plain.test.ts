import fc from "fast-check";
import { expect, it } from "vitest";
import { plain, plainStream } from "../../../src/ui/plain.js";

const parts = [
  "a",
  "\n",
  "\t",
  "é",
  "😀",
  "\u001b[31m",
  "\u001b[2J",
  "\u001b]0;title\u0007",
  "\u001b]0;title\u001b\\",
  "\u001b(B",
  "\u001b",
  "[",
  "\u009b1m",
  "\u0007",
  "\r",
  "\u202e",
];

it("is the same wherever it is cut", () => {
  const text = fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((some) => some.join(""));
  fc.assert(
    fc.property(text, fc.array(fc.nat(60), { maxLength: 8 }), (whole, cuts) => {
      const paths = [0, ...cuts.map((at) => at % (whole.length + 1)).sort((a, b) => a - b), whole.length];
      const stream = plainStream();
      const shown = paths.slice(1).map((to, at) => stream.push(whole.slice(paths[at], to)));
      expect(shown.join("") + stream.flush()).toBe(plain(whole));
    }),
    { numRuns: 1000 },
  );
});

it("holds nothing back for long", () => {
  const stream = plainStream();
  expect(stream.push("\u001b]0;never ended")).toBe("");
  expect(stream.push(`${"x".repeat(300)}\nmore`)).toMatch(/x\nmore$/);
  expect(plainStream().push("plain text")).toBe("plain text");
});
