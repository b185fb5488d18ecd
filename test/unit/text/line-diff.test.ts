import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineDiff } from "../../../src/text/line-diff.js";

describe("how one text becomes another", () => {
  it.each([
    ["nothing differs", "a\nb\n", "a\nb\n", []],
    ["all of it is new", "", "a\nb\n", ["+a", "+b"]],
    ["all of it goes", "a\n", "", ["-a"]],
    ["a line is another", "a\nb\nc\n", "a\nx\nc\n", [" a", "-b", "+x", " c"]],
    [
      "what is far from it is left out",
      "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
      "1\n2\n3\n4\n5\n6\n7\n9\n10\n",
      [" 6", " 7", "-8", " 9", "+10"],
    ],
    [
      "there are two places",
      "a\n1\n2\n3\n4\n5\n6\nb\n",
      "x\n1\n2\n3\n4\n5\n6\ny\n",
      ["-a", "+x", " 1", " 2", " …", " 5", " 6", "-b", "+y"],
    ],
  ])("%s", (_, before, after, lines) => {
    expect(lineDiff(before, after)).toEqual(lines);
  });

  it("shows every removed and every added line", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((all) => all.join("\n"));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after);
        const only = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
        const count = (whole: string) => (whole === "" ? 0 : whole.replace(/\n$/, "").split("\n").length);
        return only("+") - only("-") === count(after) - count(before);
      }),
    );
  });
});
