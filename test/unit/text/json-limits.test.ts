import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonExcess } from "../../../src/text/json-limits.js";
import { objectFrom } from "../../../src/text/json-object.js";

const limits = { depth: 3, nodes: 6, values: 4 };

describe("a JSON text is checked before it is parsed", () => {
  const cases: [about: string, text: string, excess: string | undefined][] = [
    ["nothing", "", undefined],
    ["as deep as it may be", "[[[1]]]", undefined],
    ["deeper", "[[[[1]]]]", "too-deep"],
    ["objects too", '{"a":{"b":{"c":{}}}}', "too-deep"],
    ["lists beside each other", "[[],[],[],[]]", undefined],
    ["many of them", `[${"[],".repeat(8)}[]]`, "too-many"],
    ["members", '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}', "too-many"],
    ["elements", "[1,2,3,4,5,6]", "too-many"],
    ["brackets in a text", `["${"[{,:".repeat(90)}"]`, undefined],
    ["a quote in a text", `["${'\\"['.repeat(90)}"]`, undefined],
    ["a backslash at the end of a text", `["${"x".repeat(90)}\\\\",[[[]]]]`, "too-deep"],
    ["an escaped quote far behind the beginning of a text", `["${"x".repeat(90)}\\"[[[[",1]`, undefined],
    ["an escaped quote behind an escaped backslash", `["${"x".repeat(90)}\\\\\\"[[[[",1]`, undefined],
    ["a text without an end", `["${"x".repeat(90)}`, undefined],
    ["what is no JSON", "]]]]]]", undefined],
  ];
  it.each(cases)("%s", (_about, text, excess) => expect(jsonExcess(text, limits)).toBe(excess));

  it("agrees with what parsing finds", () => {
    const depthOf = (value: unknown): number =>
      typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const unlimited = { nodes: 1e9, values: 1e9 };
        const depth = depthOf(JSON.parse(text));
        expect(jsonExcess(text, { depth, ...unlimited })).toBeUndefined();
        if (depth > 1) expect(jsonExcess(text, { depth: depth - 1, ...unlimited })).toBe("too-deep");
      }),
    );
  });

  it("millions of lists are not parsed", () => {
    expect(objectFrom(`[${"[],".repeat(3_000_000)}[]]`)).toBeUndefined();
    expect(objectFrom(`${"[".repeat(4_900_000)}${"]".repeat(4_900_000)}`)).toBeUndefined();
    expect(objectFrom(`["${"\\".repeat(8_000_000)}"]`)).toHaveLength(1);
  });
});
