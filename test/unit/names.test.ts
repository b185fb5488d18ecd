import { describe, expect, it } from "vitest";
import { byName, hostNameFrom, labelsFrom } from "../../src/names.js";

describe("a host's name", () => {
  it.each(["a", "7", "wolf-i", "lab-10", "a.b", "a_b", "10.0.0.7", "a..b", "a-", "provider", "x".repeat(63)])(
    "%j is one",
    (text) => expect(hostNameFrom(text)).toBe(text),
  );

  it.each([
    ...["", " ", "a b", " a", "a ", "a\t", "a\n", "\na", "a\0", "a\u001b[1m"],
    ...["-a", ".a", "_a", "..", "--yes", "A", "Wolf-i"],
    ...["a:b", "a/b", "../a", "a,b", "a*", "a?", "!a", "#a", "@a", "|1|a", "[a]", "a=b", "a'b", "$a"],
    ...["ü", "wölf", "wo\u0308lf", "\u0430", "a\u200b", "٣", "ⅷ", "狼", "a🐺", "\u212a", "x".repeat(64)],
  ])("%j is not", (text) => {
    expect(() => hostNameFrom(text)).toThrow(expect.objectContaining({ fault: "bad-input", exit: 2 }));
  });

  it("names the invalid name and the rule", () => {
    expect(() => hostNameFrom("Wolf I")).toThrow(
      expect.objectContaining({ message: expect.stringContaining("'Wolf I'"), why: [expect.stringContaining("63")] }),
    );
  });
});

describe("labels", () => {
  it.each<[string, [string, string]]>([
    ["rack=b2", ["rack", "b2"]],
    ["Rack=B2", ["Rack", "B2"]],
    ["gpu=", ["gpu", ""]],
    ["example.com/rack=b_2.x-y", ["example.com/rack", "b_2.x-y"]],
    ["constructor=x", ["constructor", "x"]],
    [`${"k".repeat(63)}=${"v".repeat(63)}`, ["k".repeat(63), "v".repeat(63)]],
  ])("%j is one", (text, label) => expect(labelsFrom([text])).toEqual([label]));

  it.each([
    ...["", "=", "rack", "=b2", "-rack=b2", "_rack=b2", "__proto__=x", "a b=c", "a=b c", "a=b=c", " a=b", "a=b\n"],
    ...["rack=ü", "räck=b", "a:b=c", "a=b:c", "a=b,c", `${"k".repeat(64)}=v`, `k=${"v".repeat(64)}`],
  ])("%j is not", (text) => {
    expect(() => labelsFrom(["fine=yes", text])).toThrow(
      expect.objectContaining({ fault: "bad-input", message: expect.stringContaining(`'${text}'`) }),
    );
  });

  it("keeps all of them, in the order they were typed", () => {
    expect(labelsFrom([])).toEqual([]);
    expect(labelsFrom(["b=1", "a=2", "b=3"])).toEqual([
      ["b", "1"],
      ["a", "2"],
      ["b", "3"],
    ]);
  });
});

describe("by name", () => {
  it.each([
    [
      ["lab-10", "lab-2", "lab-1"],
      ["lab-1", "lab-2", "lab-10"],
    ],
    [
      ["b1", "a10", "a9", "a"],
      ["a", "a9", "a10", "b1"],
    ],
    [
      ["10.0.0.10", "10.0.0.9", "9.0.0.1"],
      ["9.0.0.1", "10.0.0.9", "10.0.0.10"],
    ],
    [
      ["r2-n1", "r1-n10", "r1-n2", "r10-n1"],
      ["r1-n2", "r1-n10", "r2-n1", "r10-n1"],
    ],
    [
      ["lab13-1", "lab-1", "lab"],
      ["lab", "lab-1", "lab13-1"],
    ],
  ])("%j is sorted", (names, sorted) => {
    const order = (given: string[]) =>
      given
        .map((name) => ({ name }))
        .sort(byName)
        .map(({ name }) => name);
    expect(order(names)).toEqual(sorted);
    expect(order([...names].reverse())).toEqual(sorted);
  });

  it("a name is as far as itself", () => expect(byName({ name: "lab-1" }, { name: "lab-1" })).toBe(0));
});
