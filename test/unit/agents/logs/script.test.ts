import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { frameReader } from "../../../../src/agents/logs/frame-reader.js";
import library from "../../../../src/agents/logs/logs.sh?raw";

// Without root: the agent is the user who runs the test.
const agent = 'as_agent() { "$@" </dev/null 2>/dev/null; }\n';
const script = (text: string, input = ""): Buffer =>
  execFileSync("/bin/sh", ["-c", `${library}${agent}${text}`], {
    input,
    maxBuffer: 1 << 26,
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
  });
const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);

interface Case {
  name: string;
  given: string[];
  expect: string[];
  lines?: number;
  least?: number;
  from?: string;
  until?: string;
  loose?: boolean;
}

const seconds = (time: string | undefined) =>
  time === undefined ? "" : Date.parse(`${time.replace(" ", "T")}Z`) / 1000;

it.each(parse(readFileSync("test/cases/logs/recent.yaml", "utf8")) as Case[])(
  "recent: $name",
  ({ given, expect: wanted, lines = 0, least = 0, from, until, loose }) => {
    const set = `lines=${lines} min_level=${least} from=${seconds(from)} until=${seconds(until)} loose=${loose ? "yes" : ""}`;
    expect(linesOf(script(`${set}; recent`, given.map((line) => `${line}\n`).join("")).toString())).toEqual(wanted);
  },
);

describe("a line on its way", () => {
  function sent(text: string, longest = 1 << 20) {
    const heard: object[] = [];
    const hear = frameReader({ maxBytes: longest, line: (line) => heard.push(line), remark: () => {} });
    const bytes = script("number=3; frame_lines agent", text);
    // Cut anywhere, also within a character.
    for (let at = 0; at < bytes.length; at += 1021) hear(bytes.subarray(at, at + 1021));
    return { heard, bytes };
  }

  it.each([
    ["", "plain", "ends with +", "ends with ."],
    ["x".repeat(2899), "x".repeat(2900), "x".repeat(2901), "x".repeat(8700)],
    ["ä€😀".repeat(3000)],
    ["tab\tand \\ and & and 'quotes'"],
  ])("arrives unchanged: %#", (...lines) => {
    const { heard } = sent(lines.map((line) => `${line}\n`).join(""));
    expect(heard).toEqual(lines.map((line) => ({ agent: 3, source: "agent", line, cut: false })));
  });

  it("goes in pieces that one write carries", () => {
    const { bytes } = sent(`${"x".repeat(100_000)}\n`);
    expect(Math.max(...linesOf(bytes.toString()).map((line) => line.length))).toBeLessThan(4096);
  });

  it("is cut when it is too long to read", () => {
    expect(sent(`${"x".repeat(9000)}\nnext\n`, 5000).heard).toEqual([
      { agent: 3, source: "agent", line: "x".repeat(5000), cut: true },
      { agent: 3, source: "agent", line: "next", cut: false },
    ]);
  });
});

describe("a file", () => {
  let data: string;
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), "clm-logs-"));
    mkdirSync(join(data, "logs"));
  });
  afterEach(() => rmSync(data, { recursive: true }));
  const put = (name: string, text: string) => writeFileSync(join(data, "logs", name), text);
  const line = (text: string) => `2026-11-16 10:00:00,000 INFO a: ${text}\n`;
  const past = (bytes = 1_000_000) => {
    const set = `uid=1 number=0 data='${data}' lines=0 min_level=0 from='' until='' again='' bytes=${bytes}`;
    return linesOf(
      script(
        `${set}; probe_size "$data/logs/agent.log"; echo "$offset"; probe_past agent "$data/logs/agent.log" ""`,
      ).toString(),
    ).map((each) => each.replace(/^0 agent 2026-11-16 10:00:00,000 INFO a: (.*)\.$/, "$1"));
  };

  it.each([
    ["of whole lines", `${line("one")}${line("two")}`, `${line("one")}${line("two")}`.length, ["one", "two"]],
    ["whose last line is not whole yet", `${line("one")}${line("two").slice(0, -1)}`, line("one").length, ["one"]],
    ["that is but the beginning of a line", "2026-11-16 10:0", 0, []],
    ["with nothing in it", "", 0, []],
  ])("%s", (_name, text, offset, said) => {
    put("agent.log", text);
    expect(past()).toEqual([String(offset), ...said]);
  });

  it("that is not there, or is something else", () => {
    expect(past()).toEqual(["0"]);
    symlinkSync(data, join(data, "logs", "agent.log"));
    expect(past()).toEqual(["0"]);
  });

  it("comes after those it was before it was rotated", () => {
    for (const [at, name] of ["agent.log.3", "agent.log.2", "agent.log.1", "agent.log"].entries())
      put(name, line(String(at)));
    expect(past().slice(1)).toEqual(["0", "1", "2", "3"]);
  });

  it("is read from its end, without the line that is cut there", () => {
    put("agent.log", `${line("one")}${line("two")}${line("three")}`);
    expect(past(line("three").length + 10).slice(1)).toEqual(["three"]);
  });
});
