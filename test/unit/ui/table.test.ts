import { describe, expect, it } from "vitest";
import { columns, cut, padded } from "../../../src/ui/columns.js";
import { oneLine, plain } from "../../../src/ui/plain.js";
import { size } from "../../../src/ui/size.js";
import { type Column, table } from "../../../src/ui/table.js";
import { age, duration } from "../../../src/ui/time.js";

interface Row {
  name: string;
  note?: string;
  count?: number;
}
const spec: Column<Row>[] = [
  { title: "name", value: (row) => row.name },
  { title: "note", value: (row) => row.note },
  { title: "count", value: (row) => row.count },
];

describe("table", () => {
  it("puts rows under upper-case titles, three spaces apart, with - for nothing", () => {
    const rows = [
      { name: "wolf-i", note: "a b", count: 0 },
      { name: "x", note: "" },
    ];
    expect(table(rows, spec)).toBe("NAME     NOTE   COUNT\nwolf-i   a b    0\nx        -      -\n");
  });

  it("shows the titles when there is nothing", () => expect(table([], spec)).toBe("NAME   NOTE   COUNT\n"));

  it("counts wide characters as two columns and marks as none", () => {
    const lines = table(
      [
        { name: "日本", note: "é" },
        { name: "abcd", note: "x" },
      ],
      spec,
    ).split("\n");
    expect(lines).toEqual(["NAME   NOTE   COUNT", "日本   é      -", "abcd   x      -", ""]);
  });

  it("cuts nothing without a width", () => expect(table([{ name: "n".repeat(300) }], spec)).toContain("n".repeat(300)));

  it.each([20, 40, 60])("fits into %i columns by cutting the widest first", (width) => {
    const text = table([{ name: "short", note: "long ".repeat(30), count: 7 }], spec, { width });
    for (const line of text.split("\n")) expect(columns(line)).toBeLessThanOrEqual(width);
    expect(text).toContain("short");
    expect(text).toContain("…");
  });

  it("removes what could move the cursor, and line breaks", () => {
    expect(table([{ name: "a\u001b[2Jb\r\nc\u202e" }], spec)).toBe("NAME   NOTE   COUNT\nab c   -      -\n");
  });

  it("cleans before it cuts", () => {
    const clean = (text: string) => text.replace("hunter2000", "[secret]");
    expect(table([{ name: "hunter2000" }], spec, { width: 20, clean })).not.toContain("hunt");
  });
});

describe("plain", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "red"],
    ["\u001b]0;title\u0007text", "text"],
    ["a\u009b31mb", "ab"],
    ["bell\u0007 back\u0008space del\u007f", "bell backspace del"],
    ["two\nlines\tand a tab", "two\nlines\tand a tab"],
    ["over\rwritten", "overwritten"],
    ["\u202egnp.exe\u2066", "gnp.exe"],
    ["ünï ☃ 日本", "ünï ☃ 日本"],
  ])("%j", (text, safe) => expect(plain(text)).toBe(safe));

  it("on one line", () => expect(oneLine(" a \n\t b ")).toBe("a b"));
});

describe("columns", () => {
  it.each([
    ["", 0],
    ["abc", 3],
    ["日本語", 6],
    ["한글", 4],
    ["e\u0301", 1],
    ["🐺", 2],
    ["👩‍🚀", 2],
    ["👍🏽", 2],
    ["🇫🇷", 2],
    ["…", 1],
    ["⠋", 1],
  ])("%s takes %i", (text, width) => expect(columns(text)).toBe(width));

  it("cuts between characters", () => {
    expect(cut("日本語", 4)).toBe("日…");
    expect(cut("abc", 3)).toBe("abc");
    expect(cut("abcd", 3)).toBe("ab…");
    expect(cut("abcd", 0)).toBe("");
    expect(padded("日", 4)).toBe("日  ");
  });
});

describe("time and size", () => {
  it.each([
    [0, "0s"],
    [-5000, "0s"],
    [45_999, "45s"],
    [60_000, "1m"],
    [12 * 60_000 + 1, "12m"],
    [5 * 3_600_000, "5h"],
    [3 * 86_400_000 + 1, "3d"],
    [400 * 86_400_000, "400d"],
  ])("%i ms is %s", (milliseconds, text) => expect(duration(milliseconds)).toBe(text));

  it("counts an age from now", () => {
    const now = new Date("2026-01-02T00:00:00Z");
    expect(age("2026-01-01T00:00:00Z", now)).toBe("1d");
    expect(age(undefined, now)).toBeUndefined();
    expect(age("never", now)).toBeUndefined();
  });

  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 KB"],
    [999_949, "999.9 KB"],
    [999_960, "1.0 MB"],
    [15_500_000_000, "15.5 GB"],
    [2_000_000_000_000_000_000, "2000.0 PB"],
  ])("%i bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));
});
