import { describe, expect, it } from "vitest";
import { clockOf } from "../../../../src/agents/logs/clock.js";
import { splitLogger } from "../../../../src/agents/logs/entry.js";
import { entryAssembler } from "../../../../src/agents/logs/entry-assembler.js";
import { linesAfter } from "../../../../src/flows/logs/agent-log.js";

const at = (time: string) => Date.parse(`2026-11-16T${time}Z`);

describe("the host's clock", () => {
  it.each([
    ["+0000", "Etc/UTC", "2026-11-16T10:00:00Z"],
    ["+0200", "", "2026-11-16T08:00:00Z"],
    ["-0330", "", "2026-11-16T13:30:00Z"],
    ["+0100", "Europe/Berlin", "2026-11-16T09:00:00Z"],
    // Asked in summer about log lines of the winter.
    ["+0200", "Europe/Berlin", "2026-11-16T09:00:00Z"],
    ["+0530", "Asia/Kolkata", "2026-11-16T04:30:00Z"],
    ["-0500", "America/New_York", "2026-11-16T15:00:00Z"],
    ["+0100", "No/Where", "2026-11-16T09:00:00Z"],
    ["", "", "2026-11-16T10:00:00Z"],
  ])("%s %s", (offset, zone, utc) => {
    expect(new Date(clockOf(offset, zone)(at("10:00:00"))).toISOString()).toBe(utc.replace("Z", ".000Z"));
  });

  it("in summer, by what holds in summer", () => {
    const july = Date.parse("2026-07-01T10:00:00Z");
    expect(new Date(clockOf("+0100", "Europe/Berlin")(july)).toISOString()).toBe("2026-07-01T08:00:00.000Z");
  });
});

describe("entries", () => {
  function told(source: string, lines: string[], { longest = 1000, settleAfter = [] as number[] } = {}) {
    const found: object[] = [];
    const each = entryAssembler({
      ...{
        source,
        clock: (local: number) => local,
        now: () => at("12:00:00"),
        maxLength: longest,
        loose: source === "mcp-stderr",
      },
      emit: ({ at: time, level, text }, cut) =>
        found.push([new Date(time).toISOString().slice(11, 19), level, text, cut]),
    });
    for (const [number, line] of lines.entries()) {
      each.take({ line, cut: false });
      if (settleAfter.includes(number)) each.settle(false);
    }
    each.settle(true);
    return found;
  }

  it("include their continuation lines", () => {
    expect(
      told("errors", ["2026-11-16 10:00:00 ERROR x: boom", "Traceback:", "  File", "2026-11-16 10:00:01 INFO x: on"]),
    ).toEqual([
      ["10:00:00", "error", "x: boom\nTraceback:\n  File", false],
      ["10:00:01", "info", "x: on", false],
    ]);
  });

  it("continue in another group when they were shown already", () => {
    expect(told("errors", ["2026-11-16 10:00:00 ERROR x: boom", "Traceback:"], { settleAfter: [0] })).toEqual([
      ["10:00:00", "error", "x: boom", false],
      ["10:00:00", "error", "Traceback:", false],
    ]);
  });

  it("are lines, where lines have no time", () => {
    const header = "===== [2026-11-16 10:00:00] starting MCP server 'x' =====";
    expect(told("mcp-stderr", ["early", "", header, "one", "two"])).toEqual([
      ["12:00:00", "info", "early", false],
      ["10:00:00", "info", "starting MCP server 'x'", false],
      ["10:00:00", "info", "one", false],
      ["10:00:00", "info", "two", false],
    ]);
  });

  it("have a size limit", () => {
    const [[, , text, cut]] = told("agent", ["2026-11-16 10:00:00 INFO x", ...Array(100).fill("y".repeat(50))]) as [
      [string, string, string, boolean],
    ];
    expect([text.length < 1100, cut]).toEqual([true, true]);
  });

  it("of the journal are put together when a line was too long for it", () => {
    const piece = (MESSAGE: string, more: object = {}) =>
      JSON.stringify({
        __REALTIME_TIMESTAMP: String(at("10:00:00") * 1000),
        MESSAGE,
        PRIORITY: "6",
        _STREAM_ID: "a",
        ...more,
      });
    const lines = [
      piece("sec", { _LINE_BREAK: "line-max" }),
      piece("another's", { _STREAM_ID: "b" }),
      piece("re", { _LINE_BREAK: "line-max" }),
      piece("t"),
      piece("next"),
    ];
    expect(told("journal", lines, { settleAfter: [0, 1, 2] })).toEqual([
      ["10:00:00", "info", "another's", false],
      ["10:00:00", "info", "secret", false],
      ["10:00:00", "info", "next", false],
    ]);
  });
});

describe("the source", () => {
  it.each([
    ["gateway.run: Gateway running", "gateway.run", "Gateway running"],
    ["[20261116_1] tools.mcp_tool: slow\nmore", "tools.mcp_tool", "slow\nmore"],
    ["Started hermes-ada.service - Hermes.", undefined, "Started hermes-ada.service - Hermes."],
    ["hermes-ada.service: Deactivated successfully.", undefined, "hermes-ada.service: Deactivated successfully."],
  ])("%s", (text, logger, message) => {
    expect(splitLogger(text)).toEqual({ ...(logger && { logger }), message });
  });
});

describe("where a file was left", () => {
  const lines = (text: string) => [...text].map((line) => ({ line }));
  it.each([
    ["abcdef", ["b", "c"], "def"],
    ["abcabcd", ["a", "b", "c"], "d"],
    ["abc", ["a", "b", "c"], ""],
    ["abxc", ["a", "b", "c"], ""],
    ["def", ["a", "b", "c"], "def"],
    ["abc", [], "abc"],
    ["", ["a"], ""],
  ])("%s after %j", (all, last, left) => {
    expect(linesAfter(lines(all), last)).toEqual(lines(left));
  });
});
