import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { clockOf } from "../../../../src/agents/logs/clock.js";
import { Deduplicator, mergeEntries } from "../../../../src/agents/logs/deduplicate.js";
import { fileEntry, journalEntry, type LogEntry } from "../../../../src/agents/logs/entry.js";

interface Line {
  line: string;
  at?: string;
  level?: string;
  text?: string;
}

it.each(parse(readFileSync("test/cases/logs/lines.yaml", "utf8")) as Line[])(
  "file: $line",
  ({ line, at, level, text }) => {
    const entry = fileEntry("agent", line, clockOf("+0200", ""));
    if (at === undefined) expect(entry).toBeUndefined();
    else expect(entry).toEqual({ source: "agent", at: Date.parse(at), level, text });
  },
);

describe("the journal", () => {
  const line = (fields: object) => JSON.stringify({ __REALTIME_TIMESTAMP: "1763286000123456", ...fields });
  it.each([
    [
      { PRIORITY: "6", MESSAGE: "Started x." },
      { level: "info", text: "Started x." },
    ],
    [
      { PRIORITY: "6", MESSAGE: "WARNING gateway.run: no" },
      { level: "warning", text: "gateway.run: no" },
    ],
    [
      { PRIORITY: "3", MESSAGE: "failed" },
      { level: "error", text: "failed" },
    ],
    [
      { PRIORITY: "4", MESSAGE: "hm" },
      { level: "warning", text: "hm" },
    ],
    [
      { PRIORITY: "7", MESSAGE: [104, 105, 255] },
      { level: "debug", text: "hi\ufffd" },
    ],
  ])("%j", (fields, entry) => {
    expect(journalEntry(line(fields))).toEqual({ source: "journal", at: 1763286000123, ...entry });
  });

  it.each(["", "no json", "null", line({ MESSAGE: null }), '{"MESSAGE":"x"}'])("is not %j", (text) => {
    expect(journalEntry(text)).toBeUndefined();
  });
});

interface Once {
  about: string;
  file: string;
  journal: string;
  count: number;
}

/** The journal's copy of a line written at 10:00:00,123 UTC, this many milliseconds later. */
const record = (message: string, later: number): string =>
  JSON.stringify({
    __REALTIME_TIMESTAMP: String((Date.parse("2026-11-16T10:00:00.123Z") + later) * 1000),
    PRIORITY: "6",
    MESSAGE: message,
  });

describe("merged", () => {
  const entry = (source: string, at: number, text: string): LogEntry => ({ source, at, text, level: "info" });

  it("is in the order of time, and keeps the order of what came at once", () => {
    const all = [entry("agent", 3, "c"), entry("agent", 3, "d"), entry("journal", 1, "a"), entry("errors", 2, "b")];
    expect(mergeEntries(all).map(({ text }) => text)).toEqual(["a", "b", "c", "d"]);
  });

  it("shows a line once that is in several files and later in the journal", () => {
    const all = [entry("journal", 905, "x"), entry("errors", 5, "x"), entry("agent", 5, "x"), entry("gateway", 5, "x")];
    expect(mergeEntries(all)).toHaveLength(1);
    expect(mergeEntries(all)[0]?.source).not.toBe("journal");
  });

  it("shows lines once that the journal and a slow file both have", () => {
    const all = [
      entry("agent", 5, "boom\nTraceback\n  File x"),
      entry("errors", 5, "boom"),
      entry("errors", 5, "Traceback\n  File x"),
      ...["boom", "Traceback", "  File x"].map((text) => entry("journal", 7, text)),
    ];
    expect(mergeEntries(all).map(({ text }) => text)).toEqual(["boom\nTraceback\n  File x"]);
  });

  it.each(parse(readFileSync("test/cases/logs/once.yaml", "utf8")) as Once[])(
    "compares a file with the journal: $about",
    ({ file, journal, count }) => {
      const both = [fileEntry("errors", file, clockOf("+0000", "")), journalEntry(record(journal, 300))];
      expect(mergeEntries(both.filter((each) => each !== undefined))).toHaveLength(count);
    },
  );

  it("shows a record with any session tag once, and with its tag", () => {
    const tag = fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !/[\]\p{Cc}]/u.test(text));
    const words = fc.string({ maxLength: 60 }).filter((text) => !/[\p{Cc}]/u.test(text));
    fc.assert(
      fc.property(tag, words, (session, said) => {
        const file = fileEntry(
          "agent",
          `2026-11-16 10:00:00,123 WARNING [${session}] a.b: ${said}`,
          clockOf("+0000", ""),
        );
        const copy = journalEntry(record(`WARNING a.b: ${said}`, 5));
        const shown = mergeEntries([file, copy].filter((each) => each !== undefined));
        expect(shown.map(({ source, text }) => [source, text])).toEqual([["agent", `[${session}] a.b: ${said}`]]);
      }),
    );
  });

  it("shows both of two simultaneous lines, each once", () => {
    const all = [entry("agent", 5, "x"), entry("agent", 5, "x"), entry("errors", 5, "x"), entry("errors", 5, "x")];
    expect(mergeEntries(all).map(({ source }) => source)).toEqual(["agent", "agent"]);
  });

  it("shows a repeated line again", () => {
    const all = [entry("agent", 5, "x"), entry("agent", 6, "x"), entry("journal", 9000, "x")];
    expect(mergeEntries(all)).toHaveLength(3);
  });

  it("forgets after a while", () => {
    const known = new Deduplicator();
    for (let at = 0; at < 5000; at++) expect(known.isNew(entry("agent", at, `line ${at}`))).toBe(true);
    expect(known.isNew(entry("errors", 4999, "line 4999"))).toBe(false);
  });
});
