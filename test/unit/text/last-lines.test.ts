import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { lastLines, tailOf } from "../../../src/text/last-lines.js";

it.each([
  ["a\nb\nc\n", 2, ["b", "c"]],
  ["a", 3, ["a"]],
  [" \n", 3, ["ended with 1"]],
])("the last lines of %j: %i", (output, count, expected) => {
  expect(lastLines(output, count, "ended with 1")).toEqual(expected);
});

it("has no line when nothing was printed", () => {
  expect(lastLines("", 3)).toEqual([]);
});

it("keeps the end of a stream, even of a broken one", async () => {
  const stream = new PassThrough();
  const tail = tailOf(stream);
  stream.write(`${"x".repeat(5000)}\n`);
  stream.write("last line\n");
  await new Promise(setImmediate);
  stream.destroy(new Error("reset"));
  await new Promise(setImmediate);
  expect(tail()).toHaveLength(1999);
  expect(tail().endsWith("\nlast line")).toBe(true);
});
