import { describe, expect, it } from "vitest";
import { columns, cut, padded } from "../../../src/ui/columns.js";
import { createPaint } from "../../../src/ui/paint.js";
import { oneLine, plain } from "../../../src/ui/plain.js";
import { megabytes, size } from "../../../src/ui/size.js";
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

  it("paints a cell where there are colours, and nothing when its line has to be cut", () => {
    const styled: Column<Row>[] = [{ title: "name", value: (row) => row.name, style: () => "red" }, ...spec.slice(1)];
    const paint = createPaint(true);
    const [row] = [{ name: "x y", note: "n" }];
    expect(table([row], styled, { paint })).toBe("NAME   NOTE   COUNT\n\u001b[31mx y\u001b[39m    n      -\n");
    expect(table([row], styled)).toBe("NAME   NOTE   COUNT\nx y    n      -\n");
    expect(table([row], styled, { paint, width: 10 })).not.toContain("\u001b");
  });

  it("leaves others out before a column has less than it needs", () => {
    const row = { name: "x", note: "a note of forty characters, more or less", count: 1 };
    const some = (least: number): Column<Row>[] => [
      { title: "name", value: (row) => row.name, whole: true },
      { title: "count", value: (row) => row.count, drop: 1 },
      { title: "note", value: (row) => row.note, least },
    ];
    expect(table([row], some(20), { width: 40 })).toContain("COUNT");
    expect(table([row], some(30), { width: 40 })).not.toContain("COUNT");
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

  const fleet: Column<Row>[] = [
    { title: "name", whole: true, value: (row) => row.name },
    { title: "arch", drop: 1, value: () => "x86_64" },
    { title: "sudo", drop: 2, value: () => "passwordless" },
    { title: "cpus", drop: 1, value: () => 2 },
    { title: "note", value: (row) => row.note },
  ];
  const titles = (width: number, row: Row) => table([row], fleet, { width }).split("\n")[0]?.split(/ +/).join(" ");

  it.each([
    [80, "NAME ARCH SUDO CPUS NOTE"],
    [42, "NAME ARCH SUDO CPUS NOTE"],
    [41, "NAME ARCH SUDO NOTE"],
    [34, "NAME SUDO NOTE"],
    [20, "NAME NOTE"],
  ])("in %i columns leaves out what matters least, the last of equals first", (width, shown) => {
    expect(titles(width, { name: "wolf", note: "here" })).toBe(shown);
  });

  it("leaves out nothing to show a long text to its end", () => {
    expect(titles(60, { name: "wolf", note: "long ".repeat(30) })).toBe("NAME ARCH SUDO CPUS NOTE");
    expect(table([{ name: "wolf", note: "long ".repeat(30) }], fleet, { width: 60 })).toMatch(/long long.*…\n$/);
  });

  it("never cuts what must stay whole, even where it does not fit", () => {
    const name = "a-name-of-thirty-characters-ok";
    const lines = table([{ name, note: "long ".repeat(30) }], fleet, { width: 24 }).split("\n");
    expect(lines[1]).toBe(`${name}   …`);
    expect(table([{ name, note: "long ".repeat(30) }], fleet, { width: 45 })).toMatch(`${name}   long long l…\n`);
  });

  it("cuts the column beside it, when both are as wide", () => {
    const both = [
      { title: "note", value: () => "n".repeat(20) },
      { title: "name", whole: true, value: () => "w".repeat(20) },
    ];
    expect(table([{ name: "" }], both, { width: 30 })).toContain(`nnnnnn…   ${"w".repeat(20)}\n`);
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
    [-1, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KB"],
    [1536, "1.5 KB"],
    [1024 ** 2 - 1, "1 MB"],
    [23.5 * 1024 ** 3, "23.5 GB"],
    [2000 * 1024 ** 5, "2000 PB"],
  ])("%i bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));

  it.each([
    [0, "0 B"],
    [512, "512 MB"],
    [24_064, "23.5 GB"],
    [2 * 1024 ** 2, "2 TB"],
  ])("%i megabytes are %s", (count, text) => expect(megabytes(count)).toBe(text));
});
