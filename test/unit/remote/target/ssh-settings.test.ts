import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { keepAliveFor, parseHop, parseSshSettings } from "../../../../src/remote/target/ssh-settings.js";

const load = (name: string) =>
  parse(readFileSync(new URL(`../../../cases/ssh-config/${name}`, import.meta.url), "utf8"));

const cases: { name: string; output: string; expect: Record<string, unknown> }[] = load("output.yaml");
const here = { home: "/home/me", user: "me", env: { SOCK: "/run/agent.sock", EMPTY: "" } };

test.each(cases)("$name", ({ output, expect: expected }) => {
  const settings: Record<string, unknown> = { ...parseSshSettings(output, here) };
  const seen = Object.keys(expected).map((key) => [key, key in settings ? settings[key] : "absent"]);
  expect(Object.fromEntries(seen)).toEqual(expected);
});

describe("a frozen host is detected within 10 s", () => {
  const own = keepAliveFor();
  test.each([
    ["often enough", { milliseconds: 1000, unanswered: 3 }, { milliseconds: 1000, unanswered: 3 }],
    ["rarely", { milliseconds: 60_000, unanswered: 3 }, own],
    ["rarely, and only once", { milliseconds: 30_000, unanswered: 0 }, own],
    ["often, and far too many times", { milliseconds: 1000, unanswered: 600 }, own],
  ])("asked %s", (_about, wanted, taken) => expect(keepAliveFor(wanted)).toEqual(taken));
  test("keepalives by default", () => expect(own.milliseconds * (own.unanswered + 1)).toBeLessThan(10_000));
});

describe("a hop", () => {
  test.each(Object.entries(load("hops.yaml")))("%s", (text, hop) => {
    expect(parseHop(text)).toEqual(hop);
  });
});
